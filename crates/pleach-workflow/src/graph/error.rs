//! [`BuildError`]: the faults of a graph.

use std::fmt;

use pleach_context::{NodeError, NodeFault};
use pleach_core::{SetupError, with_causes};

/// A graph that cannot be built, with all its faults. ADK: the errors raised by `Workflow(...)`.
// R610
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// The name of the workflow, of the agent or of the app; empty for an error of something that an app needs, such
    /// as a model.
    pub name: String,
    /// The faults, in the order in which ADK checks them. ADK reports the first one.
    pub faults: Vec<Fault>,
}

/// One fault of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The violated rule, such as `unreachable_node`.
    pub rule: &'static str,
    /// ADK's class of the error, such as `GraphValidationError`.
    pub class: &'static str,
    /// The message, which names the nodes.
    pub message: String,
}

impl Fault {
    /// Returns a fault in the structure of the graph.
    pub fn graph(rule: &'static str, message: impl Into<String>) -> Self {
        Self { rule, class: "GraphValidationError", message: message.into() }
    }

    /// Returns a fault for an invalid value.
    pub fn value(rule: &'static str, message: impl Into<String>) -> Self {
        Self { rule, class: "ValueError", message: message.into() }
    }

    /// Returns a fault in a declaration.
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
    /// Returns the class of the first fault.
    #[must_use]
    pub fn class(&self) -> &'static str {
        self.faults.first().map_or("WorkflowConfigurationError", |fault| fault.class)
    }

    /// Returns the rule that the first fault violates.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        self.faults.first().map_or("", |fault| fault.rule)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ("", [fault]) = (self.name.as_str(), self.faults.as_slice()) {
            return f.write_str(&fault.message);
        }
        write!(f, "workflow '{}' cannot be built", self.name)?;
        let separator = if self.faults.len() == 1 { ": " } else { "\n  - " };
        for fault in &self.faults {
            write!(f, "{separator}{}", fault.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildError {}

impl<E: SetupError> From<E> for BuildError {
    fn from(error: E) -> Self {
        Self { name: String::new(), faults: vec![Fault::value("setup", with_causes(&error))] }
    }
}

impl From<BuildError> for NodeError {
    fn from(error: BuildError) -> Self {
        NodeError::new(error.class(), error.to_string())
    }
}
