//! Random trees of agents as plain data, and the strategies that draw and shrink them.

use proptest::prelude::*;

use crate::flow::{Part, Trouble, part, trouble};

/// An agent with its sub-agents.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) kind: Kind,
    pub(crate) before: Hook,
    pub(crate) after: Hook,
    pub(crate) subs: Vec<Agent>,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// An agent with a model.
    Model(Script),
    Sequential,
    Parallel,
    Loop {
        rounds: u8,
    },
}

/// The action of the callback before or after an agent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Hook {
    Nothing,
    State,
    /// It returns a message. Before an agent, the message replaces the agent's run.
    Says,
}

/// An agent with a model: its tools, and the behaviour of the model.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) mode: Mode,
    pub(crate) tools: Vec<Tool>,
    /// The calls of each answer before the first text. The numbers count the tools, then the sub-agents, then the parent; a number past
    /// the end wraps around.
    pub(crate) steps: Vec<Vec<usize>>,
    /// Whether the model's calls have ids.
    pub(crate) has_ids: bool,
    pub(crate) keeps_output: bool,
    /// Whether a task asks the user before it ends.
    pub(crate) asks: bool,
    /// How often the model yields to other tasks.
    pub(crate) pauses: u8,
}

/// The mode of an agent, if the agents above allow several modes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    /// Others transfer to the agent.
    Chat,
    /// The agent is called and answers once.
    Once,
    /// The agent is called and works on a task.
    Task,
}

#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) kind: ToolKind,
    pub(crate) trouble: Trouble,
}

#[derive(Clone, Debug)]
pub(crate) enum ToolKind {
    Plain,
    /// A tool that changes the state of the session.
    Writes,
    /// A tool whose calls a person confirms.
    Confirmed,
    /// A tool that asks for a confirmation itself.
    Asks,
    /// A tool whose result a person sends.
    LongRunning {
        has_status: bool,
    },
    /// A tool that ends the agent and the loop around it.
    Exit,
    Node(Part),
    /// An agent in an invocation of its own.
    Agent(Box<Agent>),
}

impl Agent {
    /// Returns true if agents of the tree run at the same time and other agents see them.
    pub(crate) fn is_parallel(&self) -> bool {
        matches!(self.kind, Kind::Parallel) || self.subs.iter().any(Self::is_parallel)
    }

    /// Returns true if a tool of the tree fails.
    pub(crate) fn fails(&self) -> bool {
        matches!(&self.kind, Kind::Model(script) if script.fails()) || self.subs.iter().any(Self::fails)
    }
}

impl Script {
    /// Returns true if one of the agent's tools fails.
    pub(crate) fn fails(&self) -> bool {
        self.tools.iter().any(|tool| tool.trouble.fails > 0 || tool.fails_inside())
    }
}

impl Tool {
    fn fails_inside(&self) -> bool {
        matches!(&self.kind, ToolKind::Node(part) if part.trouble.fails > 0)
    }
}

fn hook(says: u32) -> impl Strategy<Value = Hook> {
    prop_oneof![6 => Just(Hook::Nothing), 2 => Just(Hook::State), says => Just(Hook::Says)]
}

fn tool(nested: BoxedStrategy<ToolKind>) -> impl Strategy<Value = Tool> {
    let kind = prop_oneof![
        3 => Just(ToolKind::Plain),
        2 => Just(ToolKind::Writes),
        2 => Just(ToolKind::Confirmed),
        1 => Just(ToolKind::Asks),
        2 => any::<bool>().prop_map(|has_status| ToolKind::LongRunning { has_status }),
        1 => Just(ToolKind::Exit),
        2 => part().prop_map(ToolKind::Node),
        1 => nested,
    ];
    (kind, trouble()).prop_map(|(kind, trouble)| Tool { kind, trouble })
}

fn script(nested: BoxedStrategy<ToolKind>) -> impl Strategy<Value = Script> {
    let mode = prop_oneof![3 => Just(Mode::Chat), 2 => Just(Mode::Once), 2 => Just(Mode::Task)];
    let tools = prop::collection::vec(tool(nested), 0..3);
    let steps = prop::collection::vec(prop::collection::vec(0usize..4, 1..4), 0..3);
    (mode, tools, steps, any::<[bool; 3]>(), 0u8..3).prop_map(|(mode, tools, steps, flags, pauses)| {
        let [has_ids, keeps_output, asks] = flags;
        Script { mode, tools, steps, has_ids, keeps_output, asks, pauses }
    })
}

fn model(
    script: impl Strategy<Value = Script>,
    subs: impl Strategy<Value = Vec<Agent>>,
) -> impl Strategy<Value = Agent> {
    (script, hook(1), hook(2), subs).prop_map(|(script, before, after, subs)| Agent {
        kind: Kind::Model(script),
        before,
        after,
        subs,
    })
}

/// Any tree of agents.
pub(crate) fn tree() -> BoxedStrategy<Agent> {
    let plain = || Just(ToolKind::Plain).boxed();
    model(script(plain()), Just(Vec::new()))
        .prop_recursive(2, 6, 2, move |inner| {
            let nested = inner.clone().prop_map(|agent| ToolKind::Agent(Box::new(agent))).boxed();
            let subs = || prop::collection::vec(inner.clone(), 0..3);
            let shell = prop_oneof![
                2 => Just(Kind::Sequential),
                1 => Just(Kind::Parallel),
                2 => (1u8..3).prop_map(|rounds| Kind::Loop { rounds }),
            ];
            let shell = (shell, hook(1), hook(2), prop::collection::vec(inner.clone(), 1..3));
            prop_oneof![
                3 => model(script(nested), subs()),
                2 => shell.prop_map(|(kind, before, after, subs)| Agent { kind, before, after, subs }),
            ]
        })
        .boxed()
}
