//! The declared properties of a node.

use std::any::TypeId;
use std::fmt;
use std::time::Duration;

use pleach_core::Content;
use smol_str::SmolStr;

use crate::{Dynamic, InputReader, RetryConfig, Schema};

/// What the engine has to know about the kind of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeKind {
    /// An ordinary node.
    #[default]
    Plain,
    /// A wrapped function: when it returns nothing, an event of its own carries the state it changed. ADK:
    /// `FunctionNode`.
    // R506
    Function,
    /// A wrapped tool. ADK: `ToolNode`.
    Tool,
    /// Waits for all its predecessors and gets a map of their outputs. ADK: `JoinNode`.
    Join,
    /// Runs other nodes and decides about each of them on resume. ADK: `Workflow`.
    Workflow,
    /// Decides from its own events what it does next, also on a resume. ADK: `BaseAgent`.
    Agent,
}

/// What a node reads its input as, for those who take a message apart before the node gets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputKind {
    /// Whatever comes, unread.
    #[default]
    Anything,
    /// A value of one Rust type, read from a message by the rules of that type.
    Typed,
    /// The message itself.
    Message,
}

impl InputKind {
    /// Returns the kind of a node whose input type is `In`.
    #[must_use]
    pub fn of<In: 'static>() -> Self {
        let is = |id| TypeId::of::<In>() == id;
        if is(TypeId::of::<Dynamic>()) {
            Self::Anything
        } else if is(TypeId::of::<Content>()) || is(TypeId::of::<Option<Content>>()) {
            Self::Message
        } else {
            Self::Typed
        }
    }
}

/// The declared properties of a node. ADK: the fields of `BaseNode`.
// R301
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NodeSpec {
    /// The name: a letter or underscore first, then letters, digits and underscores.
    pub name: SmolStr,
    /// What the node is for; shown to people and models.
    pub description: String,
    /// The kind of node.
    pub kind: NodeKind,
    /// Whether the node runs again when one of its questions is answered; otherwise the answer is its output.
    pub rerun_on_resume: bool,
    /// Whether a run without output and route leaves the node waiting for another trigger.
    // R307
    pub wait_for_output: bool,
    /// How many workflows are nested in each other here, this one included; 0 for a node that is none.
    pub levels: u32,
    /// What the node reads its input as.
    pub takes: InputKind,
    /// The types that the node reads its input as: that of a handler, or those of the first nodes of a workflow.
    pub reads: Vec<InputReader>,
    /// The shape of the type that the node reads its input as. The node itself checks that an input has it.
    pub reads_schema: Option<Schema>,
    /// Whether every completed run gives an output: a run without one was cut off, and runs again on resume.
    pub always_gives: bool,
    /// Whether no completed run gives an output.
    pub never_gives: bool,
    /// Which runs of the node a person approves before its body runs.
    pub confirmation: Confirmation,
    /// When a failed attempt is tried again.
    pub retry: Option<RetryConfig>,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// The shape of the input.
    pub input_schema: Option<Schema>,
    /// The shape of the output.
    pub output_schema: Option<Schema>,
    /// The shape of the session state for this node and the nodes below it.
    pub state_schema: Option<Schema>,
    /// The state keys that the node reads by declaration; checked against the state schema of the workflow.
    // R164
    pub state_params: Vec<SmolStr>,
    /// The routes that the node chooses among, when they are known; each needs an edge.
    pub routes: Option<&'static [&'static str]>,
    /// What is wrong with the declaration; reported when the graph is built.
    pub faults: Vec<NodeFault>,
}

/// Which runs of a node a person approves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confirmation {
    /// None.
    #[default]
    Never,
    /// Those for which a condition of the node is true.
    Conditional,
    /// All.
    Always,
}

/// A fault in the declaration of a single node, found when the graph is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFault {
    /// The rule that is broken, such as `invalid_name`.
    pub rule: &'static str,
    /// What is wrong, naming the node.
    pub message: String,
}

impl NodeSpec {
    /// The specification of a plain node with this name and ADK's defaults.
    pub fn new(name: impl Into<SmolStr>) -> Self {
        let name = name.into();
        let faults = name_fault(&name).into_iter().collect();
        Self {
            name,
            description: String::new(),
            kind: NodeKind::Plain,
            rerun_on_resume: false,
            wait_for_output: false,
            levels: 0,
            takes: InputKind::Anything,
            reads: Vec::new(),
            reads_schema: None,
            always_gives: false,
            never_gives: false,
            confirmation: Confirmation::Never,
            retry: None,
            timeout: None,
            input_schema: None,
            output_schema: None,
            state_schema: None,
            state_params: Vec::new(),
            routes: None,
            faults,
        }
    }

    /// Sets the kind.
    #[must_use]
    pub fn kind(mut self, kind: NodeKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets whether an answered question runs the node again.
    #[must_use]
    pub fn rerun_on_resume(mut self, rerun: bool) -> Self {
        self.rerun_on_resume = rerun;
        self
    }
}

/// Names become path segments: they must be identifiers.
// R301
pub(crate) fn name_fault(name: &str) -> Option<NodeFault> {
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|letter| letter == '_' || letter.is_alphabetic());
    let valid = first && letters.all(|letter| letter == '_' || letter.is_alphanumeric());
    let message = format!(
        "Node name '{}' must be a valid identifier: a letter or '_' first, then letters, digits and '_'.",
        name.escape_debug()
    );
    (!valid).then_some(NodeFault { rule: "invalid_name", message })
}

impl fmt::Display for NodeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e87_names_are_identifiers() {
        for name in ["a", "_a1", "né", "class"] {
            assert_eq!(NodeSpec::new(name).faults, [], "{name}");
        }
        for name in ["", "a-b", "1a", "a b", "a.b"] {
            assert_eq!(NodeSpec::new(name).faults[0].rule, "invalid_name", "{name}");
        }
    }
}
