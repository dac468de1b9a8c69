//! The declared properties of a node.

use std::any::TypeId;
use std::fmt;
use std::time::Duration;

use pleach_core::Content;
use smol_str::SmolStr;

use crate::{Dynamic, InputReader, RetryConfig, Schema};

/// The kind of a node, as far as the engine distinguishes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeKind {
    /// An ordinary node.
    #[default]
    Plain,
    /// A wrapped function. If it returns nothing, a separate event carries the state that it changed.
    /// ADK: `FunctionNode`.
    // R506
    Function,
    /// A wrapped tool. ADK: `ToolNode`.
    Tool,
    /// A node that waits for all its predecessors and gets a map of their outputs. ADK: `JoinNode`.
    Join,
    /// A node that runs other nodes and decides about each of them on a resume. ADK: `Workflow`.
    Workflow,
    /// An agent, which decides from its own events what it does next, including on a resume. ADK: `BaseAgent`.
    Agent,
}

/// The kind of type that a node reads its input as. Callers that take a message apart need it before the node gets
/// the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputKind {
    /// Any input, unread.
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
    /// The purpose of the node; shown to people and models.
    pub description: String,
    /// The kind of node.
    pub kind: NodeKind,
    /// Whether the node runs again when one of its questions is answered; otherwise the answer is its output.
    pub rerun_on_resume: bool,
    /// Whether a run without an output and a route leaves the node waiting for another trigger.
    // R307
    pub wait_for_output: bool,
    /// The number of workflows nested in each other here, including this one; 0 for a node that is not a workflow.
    pub levels: u32,
    /// The kind of type that the node reads its input as.
    pub takes: InputKind,
    /// The types that the node reads its input as: the type of a handler's input, or the types of a workflow's first
    /// nodes.
    pub reads: Vec<InputReader>,
    /// The schema of the type that the node reads its input as. The node itself checks that an input fits it.
    pub reads_schema: Option<Schema>,
    /// Whether every completed run has an output. If so, a run without one was cut off, and runs again on a resume.
    pub always_gives: bool,
    /// Whether no completed run has an output.
    pub never_gives: bool,
    /// The runs of the node that a person approves before the body runs.
    pub confirmation: Confirmation,
    /// The policy for retrying a failed attempt.
    pub retry: Option<RetryConfig>,
    /// The time limit of one attempt.
    pub timeout: Option<Duration>,
    /// The schema of the input.
    pub input_schema: Option<Schema>,
    /// The schema of the output.
    pub output_schema: Option<Schema>,
    /// The schema of the session state for this node and the nodes below it.
    pub state_schema: Option<Schema>,
    /// The state keys that the node declares to read. They are checked against the state schema of the workflow.
    // R164
    pub state_params: Vec<SmolStr>,
    /// The routes that the node chooses among, if they are known; each needs an edge.
    pub routes: Option<&'static [&'static str]>,
    /// The faults of the declaration; they are reported when the graph is built.
    pub faults: Vec<NodeFault>,
}

/// The runs of a node that a person approves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confirmation {
    /// No runs.
    #[default]
    Never,
    /// The runs for which a condition of the node is true.
    Conditional,
    /// All runs.
    Always,
}

/// A fault in the declaration of a single node, found when the graph is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFault {
    /// The rule that is broken, such as `invalid_name`.
    pub rule: &'static str,
    /// The description of the fault, which names the node.
    pub message: String,
}

impl NodeSpec {
    /// Returns the specification of a plain node with this name and ADK's defaults.
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

/// Returns the fault of a name that is not an identifier. Names become path segments.
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
