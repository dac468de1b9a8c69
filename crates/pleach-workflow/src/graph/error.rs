//! What is wrong with a graph.

use std::fmt;

use pleach_context::{NodeError, NodeFault};

/// A graph that cannot run, with every fault at once. ADK: the errors raised by `Workflow(...)`.
// R610
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// The name of the workflow, or of the app.
    pub name: String,
    /// The faults, in the order in which ADK checks them: the first one is the one that it reports.
    pub faults: Vec<Fault>,
}

/// One fault of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The rule that is broken, such as `unreachable_node`.
    pub rule: &'static str,
    /// ADK's class of the error, such as `GraphValidationError`.
    pub class: &'static str,
    /// What is wrong, naming the nodes.
    pub message: String,
}

impl Fault {
    /// A fault of the graph's shape.
    pub fn graph(rule: &'static str, message: impl Into<String>) -> Self {
        Self { rule, class: "GraphValidationError", message: message.into() }
    }

    /// A value that does not fit.
    pub fn value(rule: &'static str, message: impl Into<String>) -> Self {
        Self { rule, class: "ValueError", message: message.into() }
    }

    /// A fault of a declaration.
    pub fn config(rule: &'static str, message: impl Into<String>) -> Self {
        Self { rule, class: "WorkflowConfigurationError", message: message.into() }
    }
}

impl From<&NodeFault> for Fault {
    fn from(fault: &NodeFault) -> Self {
        Self::config(fault.rule, fault.message.clone())
    }
}

impl BuildError {
    /// The class of the first fault.
    #[must_use]
    pub fn class(&self) -> &'static str {
        self.faults.first().map_or("WorkflowConfigurationError", |fault| fault.class)
    }

    /// The rule that the first fault breaks.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        self.faults.first().map_or("", |fault| fault.rule)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workflow '{}' cannot be built", self.name)?;
        let separator = if self.faults.len() == 1 { ": " } else { "\n  - " };
        for fault in &self.faults {
            write!(f, "{separator}{}", fault.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildError {}

impl From<BuildError> for NodeError {
    fn from(error: BuildError) -> Self {
        NodeError::new(error.class(), error.to_string())
    }
}
