//! Decides whether a resume executes a recorded run or answers it from history.
// R1010–R1012

use std::sync::Arc;

use pleach_context::engine::{NodeEnd, NodeResult, ReplayState, RunRecord};
use pleach_context::{Node, NodeError, NodeInput, NodeKind, NodeSpec, json_or_text};
use pleach_core::Map;
use serde_json::Value;

/// The decision of a resume about a run.
#[derive(Debug)]
pub(crate) enum Decision {
    /// Execute it, with these answers.
    Run(Option<Arc<Map>>),
    /// Answer it from history with this end. If the branch is `None`, the run ends on the branch that it starts on.
    Replay(NodeEnd),
}

/// The properties of a node that replay decisions depend on, without the rest of its declaration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplayRules {
    /// Whether the node is a workflow. A workflow decides about each of its nodes itself.
    pub(crate) is_workflow: bool,
    /// Whether the node is an agent. An agent decides from its own events what it waits for.
    pub(crate) is_agent: bool,
    /// See [`NodeSpec::rerun_on_resume`].
    pub(crate) rerun_on_resume: bool,
    /// See [`NodeSpec::wait_for_output`].
    pub(crate) wait_for_output: bool,
    /// See [`NodeSpec::always_gives`].
    pub(crate) always_gives: bool,
}

impl ReplayRules {
    pub(crate) fn of(spec: &NodeSpec) -> Self {
        let NodeSpec { kind, rerun_on_resume, wait_for_output, always_gives, .. } = *spec;
        let is_agent = kind == NodeKind::Agent;
        Self { is_workflow: kind == NodeKind::Workflow, is_agent, rerun_on_resume, wait_for_output, always_gives }
    }

    /// Returns the state of a recorded run of the node, as history implies it. `records_ends` is true if the app has
    /// recorded each completed run.
    pub(crate) fn state_of(self, record: &RunRecord, dynamic: bool, records_ends: bool) -> ReplayState {
        // The child has produced the output, but the run's later steps, such as its route, are unknown.
        let is_cut_off = record.delegated && self.rerun_on_resume && !self.is_workflow && !record.is_open();
        match self.state_if_continued(record, dynamic) {
            _ if is_cut_off => ReplayState::ToRun,
            // The run has sent a message, and its end is not recorded.
            ReplayState::CompletedEmpty if records_ends && !self.is_agent && !record.completed => ReplayState::ToRun,
            state => state,
        }
    }

    /// Returns the state of a run that is known to have continued after its last event.
    pub(crate) fn state_if_continued(self, record: &RunRecord, dynamic: bool) -> ReplayState {
        if self.is_workflow {
            return ReplayState::ToRun;
        }
        if record.is_open() {
            return if self.is_agent || (self.rerun_on_resume && !record.answers().is_empty()) {
                ReplayState::ToRun
            } else {
                ReplayState::Open
            };
        }
        if record.failed {
            return ReplayState::ToRun;
        }
        // The agents that an agent transfers to belong to the run of its graph node. A replay of its own events only
        // transfers again.
        if self.is_agent && !dynamic && record.transfer_to_agent().is_some() {
            return ReplayState::ToRun;
        }
        // A route chosen before a question is not a result yet.
        if record.output.is_some() || (record.chose() && !record.chose_before_answer) {
            return ReplayState::Completed;
        }
        if record.is_interrupted() && !self.rerun_on_resume {
            return ReplayState::CompletedByAnswer;
        }
        if record.completed {
            return ReplayState::CompletedEmpty;
        }
        let rests = if !record.is_interrupted() && !self.rerun_on_resume { !dynamic } else { record.finished };
        if rests && !self.wait_for_output && !self.always_gives {
            ReplayState::CompletedEmpty
        } else {
            ReplayState::ToRun
        }
    }
}

/// Decides from a run's state whether to execute it or to answer it from history.
// R1010
pub(crate) fn decide(
    node: &dyn Node,
    rules: ReplayRules,
    state: ReplayState,
    record: &RunRecord,
) -> Result<Decision, NodeError> {
    let output = match state {
        ReplayState::ToRun => return Ok(Decision::Run(answers(record))),
        ReplayState::Open => return Ok(Decision::Replay(NodeEnd::Interrupted(record.open()))),
        ReplayState::CompletedEmpty => {
            // A route chosen before a question is not a result.
            let result = NodeResult { branch: record.branch.clone(), ..NodeResult::default() };
            return Ok(Decision::Replay(NodeEnd::of_body(result, rules.wait_for_output)));
        }
        ReplayState::CompletedByAnswer => answer_as_output(record),
        ReplayState::Completed => recorded_output(node, record)?,
    };
    let route = record.result_route(rules.rerun_on_resume).cloned().map(Box::new);
    let transfer_to_agent = record.transfer_to_agent().filter(|_| node.agent().is_some()).map(Box::from);
    Ok(Decision::Replay(NodeEnd::Done(NodeResult { output, route, branch: record.branch.clone(), transfer_to_agent })))
}

/// Returns the answers of a run, as its context exposes them.
fn answers(record: &RunRecord) -> Option<Arc<Map>> {
    let given = || record.answers().iter().map(|(id, answer)| (id.clone(), answer.clone()));
    (!record.answers().is_empty()).then(|| Arc::new(given().collect()))
}

/// Returns the answers as the output of a node that does not run again: a single answer itself, several as a map.
// R908
fn answer_as_output(record: &RunRecord) -> NodeInput {
    let mut answers = record.answers().clone();
    match answers.len() {
        1 => answers.pop_first().map_or(NodeInput::Null, |(_, answer)| NodeInput::json(answer)),
        _ => NodeInput::json(Value::Object(answers.into_iter().collect())),
    }
}

/// Returns the recorded output. A message that replaced the output is read with the node's output schema.
// R1012
fn recorded_output(node: &dyn Node, record: &RunRecord) -> Result<NodeInput, NodeError> {
    let Some(output) = record.output.clone() else { return Ok(NodeInput::Null) };
    let Some(content) = output.content() else { return Ok(output) };
    let spec = node.spec();
    let text = content.text();
    let text = text.trim();
    if text.is_empty() {
        return Ok(NodeInput::Null);
    }
    let Some(schema) = &spec.output_schema else { return Ok(NodeInput::json(text)) };
    let parsed = json_or_text(text);
    if let Ok(fitting) = schema.apply(&parsed) {
        return Ok(NodeInput::json(fitting));
    }
    if parsed.is_string() {
        let message = format!(
            "the recorded output of node '{}' does not fit its schema '{}': the schema has changed since the node ran. Resume with the workflow that recorded it, or start a new invocation.",
            spec.name,
            schema.name()
        );
        return Err(NodeError::data(message));
    }
    tracing::warn!(node = %spec.name, "the recorded output does not fit the schema; it is used as it is");
    Ok(NodeInput::json(parsed))
}

#[cfg(test)]
mod tests;
