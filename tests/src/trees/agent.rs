//! Plans agents, their modes and their tools.

use serde_json::{Map, Value, json};

use super::plan::{Agent, Kind, Mode, Place, Planner, Root};
use super::script::{Reach, script};

/// The maximum number of agents of a scenario.
const AGENTS: usize = 7;

/// The tools that agents may have. [`tool`] describes them.
const TOOLS: [&str; 6] = ["look", "note", "job", "wait", "skip", "pay"];

/// The tools whose calls are answered later.
const WAITING: [&str; 3] = ["job", "wait", "pay"];

impl Planner {
    pub(super) fn root_agent(&mut self) -> Root {
        let agent = self.llm(Place::Root, 0);
        self.root(&agent)
    }

    pub(super) fn root_shell(&mut self) -> Root {
        let kind = self.shell_kind();
        let agent = self.shell(kind, 0);
        self.root(&agent)
    }

    fn root(&mut self, agent: &Agent) -> Root {
        Root { node: self.node(agent, None), library: Map::new(), runs_side_by_side: agent.runs_side_by_side() }
    }

    fn name(&mut self) -> String {
        self.agents += 1;
        format!("a{}", self.agents)
    }

    fn shell_kind(&mut self) -> Kind {
        // google-adk marks the end of a parallel agent on the branch of a lane, and fragments of lanes come in any order.
        let parallel = if self.resumable || self.streaming { Kind::Sequential } else { Kind::Parallel };
        *self.dice.one_of(&[Kind::Sequential, parallel, Kind::Loop])
    }

    /// Plans an agent with a model and its sub-agents.
    pub(super) fn llm(&mut self, place: Place, depth: usize) -> Agent {
        let mode = self.mode(place);
        let name = self.name();
        let mut settings = Map::new();
        if let Some(text) = mode.text(place, &mut self.dice) {
            settings.insert("mode".into(), text.into());
        }
        let mut subs = Vec::new();
        let wanted = if depth < 2 && mode != Mode::SingleTurn { self.dice.below(4 - depth) } else { 0 };
        while subs.len() < wanted && self.agents < AGENTS {
            let below = match place {
                Place::Root if mode == Mode::Chat => Place::Sub,
                Place::Root | Place::Node(_) => Place::TaskSub,
                _ if mode == Mode::Task => Place::Part,
                _ if matches!(place, Place::Sub) => Place::Below,
                _ => Place::TaskBelow,
            };
            subs.push(self.sub(below, depth + 1));
        }
        // If an agent that a call runs transfers, pleach differs: L141.
        let delegated = mode != Mode::Chat && !matches!(place, Place::Root | Place::Node(_));
        for key in ["disallow_transfer_to_parent", "disallow_transfer_to_peers"] {
            if delegated || self.dice.below(8) == 0 {
                settings.insert(key.into(), true.into());
            }
        }
        if self.dice.below(5) == 0 {
            settings.insert("output_key".into(), format!("said_{name}").into());
        }
        if self.dice.below(3) == 0 {
            settings.insert("instruction".into(), format!("You are {name}.").into());
        }
        let tools = TOOLS.into_iter().filter(|_| self.dice.below(3) == 0);
        let tools = tools.filter(|tool| may_have(tool, place, mode, &subs, self.resumable)).collect();
        Agent {
            name,
            kind: Kind::Llm(mode),
            subs,
            tools,
            ends_for_good: matches!(place, Place::Node(_) | Place::Root),
            settings,
        }
    }

    fn mode(&mut self, place: Place) -> Mode {
        match place {
            Place::Root => *self.dice.one_of(&[Mode::Chat, Mode::Chat, Mode::Chat, self.task()]),
            // If an agent that works on a call's task transfers, pleach differs: R708, L191.
            Place::Part => *self.dice.one_of(&[self.task(), Mode::SingleTurn]),
            // google-adk fails if an agent that was transferred to delegates a task: L190.
            Place::Below | Place::TaskBelow => *self.dice.one_of(&[Mode::Chat, Mode::SingleTurn]),
            Place::Sub | Place::TaskSub => *self.dice.one_of(&[Mode::Chat, Mode::Chat, self.task(), Mode::SingleTurn]),
            Place::Step | Place::Lane => Mode::Chat,
            Place::Node(mode) => mode,
        }
    }

    fn sub(&mut self, place: Place, depth: usize) -> Agent {
        // A shell agent that a task transfers to starts again with each message.
        if matches!(place, Place::Sub | Place::Below) && self.dice.below(8) == 0 && self.agents + 2 < AGENTS {
            let kind = self.shell_kind();
            self.shell(kind, depth)
        } else {
            self.llm(place, depth)
        }
    }

    /// Plans a shell agent whose sub-agents have models.
    fn shell(&mut self, kind: Kind, depth: usize) -> Agent {
        let name = self.name();
        let count = 1 + self.dice.below(3);
        let place = if kind == Kind::Parallel { Place::Lane } else { Place::Step };
        let subs = (0..count).map(|_| self.llm(place, depth + 2)).collect();
        let mut settings = Map::new();
        if kind == Kind::Loop {
            settings.insert("max_iterations".into(), (1 + self.dice.below(2)).into());
        }
        Agent { name, kind, subs, tools: Vec::new(), ends_for_good: false, settings }
    }

    /// Describes an agent as a node of a scenario.
    pub(super) fn node(&mut self, agent: &Agent, reach: Option<&Reach<'_>>) -> Value {
        let mut node = agent.settings.clone();
        node.insert("kind".into(), agent.kind.text().into());
        node.insert("name".into(), agent.name.clone().into());
        node.insert("description".into(), format!("Does {}.", agent.name).into());
        let names: Vec<Value> = agent
            .subs
            .iter()
            .map(|sub| {
                let peers = agent.subs.iter().filter(|peer| peer.name != sub.name).collect();
                self.node(sub, Some(&Reach { parent: agent, peers }))
            })
            .collect();
        if !names.is_empty() {
            node.insert("sub_agents".into(), names.into());
        }
        if let Kind::Llm(mode) = agent.kind {
            let responses = script(self, agent, mode, reach);
            node.insert("model".into(), json!({ "responses": responses }));
            if !agent.tools.is_empty() {
                node.insert("tools".into(), agent.tools.iter().map(|name| tool(name)).collect());
            }
        }
        node.into()
    }
}

/// Returns true if an agent may have a tool, because pleach and google-adk behave in the same way with it.
fn may_have(tool: &str, place: Place, mode: Mode, subs: &[Agent], resumable: bool) -> bool {
    let waits = WAITING.contains(&tool);
    match place {
        // The order of the events of parallel agents is not defined.
        Place::Lane => false,
        // In google-adk, the input of an agent that answers once is lost if it waits: L120.
        _ if mode == Mode::SingleTurn => !waits,
        // google-adk marks an agent as ended while its job runs (R1031), and continues another run instead of the run
        // that asked (R708).
        _ if resumable => !waits || (matches!(place, Place::Root) && subs.is_empty() && tool == "pay"),
        // google-adk runs nothing if the user sends a message to a task that waits: L191.
        _ if mode == Mode::Task && tool == "wait" => false,
        // In pleach, a shell agent continues with the next agent when an answer comes (L120). An agent that a task
        // transfers to does the same (R708).
        Place::Step | Place::TaskSub | Place::TaskBelow => !waits,
        // In pleach, a graph waits for jobs and for the agents that its agents transfer to: R708.
        Place::Node(_) => !waits || (subs.is_empty() && tool != "job"),
        Place::Root | Place::Sub | Place::Below | Place::Part => true,
    }
}

/// Describes a tool.
fn tool(name: &str) -> Value {
    let steps = match name {
        "look" => json!([{"return": {"seen": "it"}}]),
        "note" => json!([{"set_state": {"noted": "yes"}}, {"return": {"noted": true}}]),
        "job" => json!([{"return": {"status": "pending"}}]),
        "wait" => json!([{"return": null}]),
        "skip" => json!([{"actions": {"skip_summarization": true}}, {"return": {"skipped": true}}]),
        _ => json!([{"return": {"paid": true}}]),
    };
    let mut tool = json!({"name": name, "description": format!("Does {name}."), "params": [], "steps": steps});
    match name {
        "job" | "wait" => tool["long_running"] = true.into(),
        "pay" => tool["require_confirmation"] = true.into(),
        _ => {}
    }
    tool
}
