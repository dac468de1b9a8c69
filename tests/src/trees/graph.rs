//! Plans graphs with agents in them.

use serde_json::{Map, Value, json};

use super::plan::{Agent, Mode, Place, Planner, Root};

impl Planner {
    pub(super) fn root_graph(&mut self) -> Root {
        match self.dice.below(6) {
            0 => self.conversation(),
            1..=3 => self.chain(),
            // When lanes store their checkpoints is open.
            4 if !self.resumable && !self.streaming => self.lanes(),
            _ => self.dynamic(),
        }
    }

    /// An agent that converses, alone in its graph: it gives no output.
    fn conversation(&mut self) -> Root {
        let agent = self.llm(Place::Node(Mode::Chat), 0);
        let node = self.node(&agent, None);
        self.workflow(&[&agent], Map::from_iter([(agent.name.clone(), node)]), json!([["START", agent.name]]))
    }

    /// One or two agents in a row, with a function after them, and perhaps one before.
    fn chain(&mut self) -> Root {
        let mut nodes = Map::new();
        let mut chain = vec!["START".to_owned()];
        if self.dice.below(2) == 0 {
            nodes.insert("first".into(), json!({"kind": "function", "steps": [{"return": "first output"}]}));
            chain.push("first".into());
        }
        let count = 1 + self.dice.below(2);
        let agents: Vec<Agent> = (0..count).map(|place| self.node_agent(place == 0 && chain.len() == 1)).collect();
        for agent in &agents {
            let node = self.node(agent, None);
            nodes.insert(agent.name.clone(), node);
            chain.push(agent.name.clone());
        }
        nodes.insert("last".into(), last());
        chain.push("last".into());
        self.workflow(&agents.iter().collect::<Vec<_>>(), nodes, json!([chain]))
    }

    /// Two agents beside each other, joined.
    fn lanes(&mut self) -> Root {
        // Agents that hand over in a lane stay on its branch (R402), and a message is one task's (R1210).
        let task = if self.dice.below(2) == 0 { Mode::Task } else { Mode::SingleTurn };
        let [left, right] = [task, Mode::SingleTurn].map(|mode| self.llm(Place::Node(mode), 2));
        let mut nodes = Map::new();
        for agent in [&left, &right] {
            let node = self.node(agent, None);
            nodes.insert(agent.name.clone(), node);
        }
        nodes.insert("both".into(), json!({"kind": "join"}));
        nodes.insert("last".into(), last());
        let edges = json!([["START", [left.name, right.name], "both", "last"]]);
        let mut root = self.workflow(&[&left, &right], nodes, edges);
        root.runs_side_by_side = true;
        root
    }

    /// A function that runs an agent.
    fn dynamic(&mut self) -> Root {
        let sees_message = self.dice.below(2) == 0;
        let agent = self.node_agent(sees_message);
        let node = self.node(&agent, None);
        let input = if sees_message { json!({"$": "input"}) } else { "dynamic input".into() };
        let body = json!({"kind": "function", "rerun_on_resume": true, "steps": [
            {"run_node": {"node": agent.name, "input": input}, "as": "got"},
            {"return": {"got": {"$": "var.got"}}},
        ]});
        let nodes = Map::from_iter([("caller".to_owned(), body), ("last".to_owned(), last())]);
        let mut root = self.workflow(&[&agent], nodes, json!([["START", "caller", "last"]]));
        root.library = Map::from_iter([(agent.name.clone(), node)]);
        root
    }

    /// An agent that answers once, or a task where the agent's input is the user's message: google-adk shows a task in a later turn
    /// only that.
    // L193
    fn node_agent(&mut self, sees_message: bool) -> Agent {
        let mode = if sees_message && self.dice.below(2) == 0 { self.task() } else { Mode::SingleTurn };
        self.llm(Place::Node(if mode == Mode::Chat { Mode::SingleTurn } else { mode }), 0)
    }

    fn workflow(&self, agents: &[&Agent], nodes: Map<String, Value>, edges: Value) -> Root {
        Root {
            node: json!({"kind": "workflow", "name": "wf", "nodes": nodes, "edges": edges}),
            library: Map::new(),
            runs_side_by_side: agents.iter().any(|agent| agent.runs_side_by_side()),
        }
    }
}

/// A function that shows its input in the output.
fn last() -> Value {
    json!({"kind": "function", "steps": [{"return": {"last": {"$": "input"}}}]})
}
