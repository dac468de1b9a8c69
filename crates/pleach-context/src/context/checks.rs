//! Checks before a child runs or a question is asked. Nothing has been stored yet at that point.

use super::Context;
use crate::engine::{MAX_DEPTH, too_deep};
use crate::node::name_fault;
use crate::{NodeError, NodeSpec, RunOptions};

impl Context {
    /// Checks the same rules that `build` checks for the nodes of a graph, and the texts that become part of paths and
    /// branches.
    pub(super) fn check_child(&self, spec: &NodeSpec, options: &RunOptions) -> Result<(), NodeError> {
        let faults = spec.faults.iter().filter(|fault| options.name.is_none() || fault.rule != "invalid_name");
        let mut messages: Vec<String> = faults.map(|fault| fault.message.clone()).collect();
        messages.extend(self.undeclared_params(spec));
        if !messages.is_empty() {
            let text = format!("node '{}' cannot run: {}", spec.name.escape_debug(), messages.join(" "));
            let class = if spec.faults.is_empty() { "StateSchemaError" } else { "WorkflowConfigurationError" };
            return Err(NodeError::new(class, text));
        }
        if let Some(fault) = options.name.as_deref().and_then(name_fault) {
            return Err(NodeError::value(format!("`RunOptions::name`: {}", fault.message)));
        }
        if let Some(id) = &options.run_id {
            check_run_id(id)?;
        }
        let texts = [
            ("override_branch", options.override_branch.as_deref()),
            ("override_isolation_scope", options.override_isolation_scope.as_deref()),
        ];
        let storable = |text: &str| !text.contains('\0');
        match texts.into_iter().find(|(_, text)| !text.is_none_or(storable)) {
            Some((option, _)) => {
                Err(NodeError::value(format!("`RunOptions::{option}` contains U+0000, which cannot be stored")))
            }
            None => Ok(()),
        }
    }

    /// Returns messages about the state keys that the node declares to read but that the enclosing state schema lacks.
    // R164
    fn undeclared_params(&self, spec: &NodeSpec) -> Vec<String> {
        let schema = spec.state_schema.as_ref().or(self.inner.state_schema.as_ref());
        let Some(schema) = schema.filter(|schema| schema.is_enforced()) else { return Vec::new() };
        let undeclared =
            |key: &&smol_str::SmolStr| !key.contains(':') && !schema.fields().iter().any(|field| field.name == **key);
        let message = |key| format!("Its parameter '{key}' is not declared in state_schema '{}'.", schema.name());
        spec.state_params.iter().filter(undeclared).map(message).collect()
    }

    pub(super) fn check_call(&self, options: &RunOptions) -> Result<(), NodeError> {
        self.check_outside_step("runs a node: run it after the step")?;
        if self.inner.depth >= MAX_DEPTH {
            return Err(too_deep(self.inner.depth));
        }
        if !self.inner.rerun_on_resume {
            let node = self.node_name();
            return Err(NodeError::value(format!(
                "A node must have rerun_on_resume=True. Node '{node}' runs other nodes, so it must run again on a resume: add it with `FunctionNode::new(\"{node}\", …).rerun_on_resume(true)`."
            )));
        }
        if let Some(id) = options.run_id.as_ref().filter(|id| id.chars().all(|digit| digit.is_ascii_digit())) {
            let node = self.node_path();
            return Err(NodeError::value(format!(
                "Explicit run_id \"{id}\" for a child of \"{node}\" must contain non-numeric characters: the runtime assigns the numbers."
            )));
        }
        let mut cell = self.cell();
        self.record_caught_failures(&mut cell);
        if options.use_as_output {
            if cell.has_ended() {
                return Err(self.has_ended());
            }
            if cell.delegate.is_some() {
                return Err(NodeError::value(format!(
                    "Node {} already has a use_as_output delegate.",
                    self.node_path()
                ))
                .with_hint("run at most one child with `use_as_output`"));
            }
            cell.delegate = Some(Box::default());
            cell.delegated = true;
        }
        Ok(())
    }
}

/// Refuses characters that separate the parts of paths (`/` and `@`) or of branches (`.`), and control characters.
fn check_run_id(id: &str) -> Result<(), NodeError> {
    let refused = |letter: &char| matches!(letter, '/' | '@' | '.') || letter.is_control();
    let reason = match id.chars().find(refused) {
        Some(letter) => format!("contains '{}'", letter.escape_debug()),
        None if id.trim().is_empty() => "is blank".to_owned(),
        None => return Ok(()),
    };
    Err(NodeError::value(format!(
        "`RunOptions::run_id` '{}' {reason}: it becomes part of the run's path and branch, so use letters, digits, '-' and '_'",
        id.escape_debug()
    )))
}
