//! Plans graphs with agents in them.

use serde_json::{Map, Value, json};

use super::plan::{Agent, Mode, Place, Planner, Root};

impl Planner {
    pub(super) fn root_graph(&mut self) -> Root {
        match self.dice.below(6) {
            0 => self.conversation(),
            1..=3 => self.chain(),
            // The order in which lanes store their checkpoints is not defined.
            4 if !self.resumable && !self.streaming => self.lanes(),
            _ => self.dynamic(),
        }
    }

    /// A graph of a single agent in chat mode, which has no output.
    fn conversation(&mut self) -> Root {
        let agent = self.llm(Place::Node(Mode::Chat), 0);
        let node = self.node(&agent, None);
        self.workflow(&[&agent], Map::from_iter([(agent.name.clone(), node)]), json!([["START", agent.name]]))
    }

    /// One or two agents in sequence, followed by a function and possibly preceded by one.
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

    /// Two parallel agents that are joined.
    fn lanes(&mut self) -> Root {
        // Agents that transfer in a lane stay on its branch (R402), and a message belongs to one task (R1210).
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

    /// An agent that answers once, or a task. It may be a task only if its input is the user's message: in a later turn
    /// google-adk shows a task only that message.
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
