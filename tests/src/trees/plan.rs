//! The parts of a scenario plan.

use serde_json::{Map, Value};

use crate::dice::Dice;

/// The root of a scenario.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) node: Value,
    /// The nodes that functions run.
    pub(super) library: Map<String, Value>,
    /// Whether agents run in parallel, so that the order of their events is not defined.
    pub(super) runs_side_by_side: bool,
}

/// The mode of an agent with a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The agent converses and may transfer.
    Chat,
    /// The agent works on a task until it calls `finish_task`.
    Task,
    /// The agent answers once.
    SingleTurn,
}

/// A planned agent.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) subs: Vec<Agent>,
    /// The names of the agent's tools.
    pub(super) tools: Vec<&'static str>,
    /// Whether the agent is the root or a node of a graph. Such an agent works on its first task, and ends each later
    /// task at once.
    // R1210: google-adk misreads the messages of a later task.
    pub(super) ends_for_good: bool,
    pub(super) settings: Map<String, Value>,
}

/// The kind of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Llm(Mode),
    Sequential,
    Parallel,
    Loop,
}

/// The place of an agent, which decides its possible modes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Root,
    /// Below an agent with a model.
    Sub,
    /// Below a shell agent.
    Step,
    /// In a graph.
    Node(Mode),
    /// Below a parallel agent.
    Lane,
    /// Below an agent of a graph, or a root that works on a task.
    TaskSub,
    /// Below an agent that works on the task of a call.
    Part,
    /// Below an agent that is transferred to.
    Below,
    /// Below an agent that a task transferred to.
    TaskBelow,
}

/// Makes the parts of one scenario.
#[derive(Debug)]
pub(super) struct Planner {
    pub(super) dice: Dice,
    pub(super) resumable: bool,
    pub(super) streaming: bool,
    /// Whether calls have ids of the model instead of generated ids.
    pub(super) named_calls: bool,
    pub(super) agents: usize,
}

impl Planner {
    pub(super) fn new(mut dice: Dice) -> Self {
        let resumable = dice.below(5) == 0;
        let streaming = dice.below(8) == 0;
        let named_calls = dice.below(2) == 0;
        Self { dice, resumable, streaming, named_calls, agents: 0 }
    }

    /// Returns the task mode. In a resumable app it returns another mode, because google-adk marks waiting tasks as
    /// ended there.
    // L191, R1031
    pub(super) fn task(&self) -> Mode {
        if self.resumable { Mode::Chat } else { Mode::Task }
    }
}

impl Agent {
    /// Returns true if agents run in parallel.
    pub(super) fn runs_side_by_side(&self) -> bool {
        self.kind == Kind::Parallel || self.subs.iter().any(Self::runs_side_by_side)
    }

    pub(super) fn has(&self, setting: &str) -> bool {
        self.settings.contains_key(setting)
    }
}

impl Mode {
    /// Returns the text of the mode in the scenario, or `None` if the mode is left out.
    pub(super) fn text(self, place: Place, dice: &mut Dice) -> Option<&'static str> {
        match (self, place) {
            (Self::Chat, Place::Node(_)) => Some("chat"),
            (Self::Chat, Place::Step | Place::Lane) => None,
            (Self::Chat, _) => (dice.below(4) == 0).then_some("chat"),
            (Self::Task, _) => Some("task"),
            (Self::SingleTurn, _) => Some("single_turn"),
        }
    }
}

impl Kind {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Llm(_) => "llm_agent",
            Self::Sequential => "sequential_agent",
            Self::Parallel => "parallel_agent",
            Self::Loop => "loop_agent",
        }
    }
}
