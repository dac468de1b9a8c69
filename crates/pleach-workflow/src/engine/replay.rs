//! What a resume does with what history says: pure decisions, rules R1010–R1020.

use std::collections::BTreeMap;
use std::sync::Arc;

use pleach_context::{History, NodeError, NodeInput, NodeKind, NodeSpec, RunRecord, json_or_text};
use pleach_core::{Branch, Map, NodePath, Route};
use rustc_hash::FxHashMap;
use serde_json::Value;

/// What to do with a run that is about to start.
#[derive(Debug)]
pub(crate) enum Decision {
    /// Run it, with the answers that have come.
    Run(Option<Arc<Map>>),
    /// Answer it from history.
    FastForward(Replayed),
    /// It still waits for answers to these questions.
    Wait(Vec<String>),
}

/// What history gives instead of a run.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    pub(crate) output: NodeInput,
    pub(crate) route: Option<Route>,
    /// The branch that the run ended on; `None` for the one that it starts on.
    pub(crate) branch: Option<Branch>,
}

/// Decides about a run from its record (R1010).
pub(crate) fn decide(spec: &NodeSpec, record: Option<&RunRecord>, dynamic: bool) -> Result<Decision, NodeError> {
    let Some(record) = record else { return Ok(Decision::Run(None)) };
    let rerun = || Decision::Run(answers(record));
    let fast_forward = |output: NodeInput| {
        let route = record.route.clone();
        Decision::FastForward(Replayed { output, route, branch: record.branch.clone() })
    };
    if spec.kind == NodeKind::Workflow {
        return Ok(rerun());
    }
    let open = record.open();
    if !open.is_empty() {
        let rerunnable = spec.rerun_on_resume && !record.answers.is_empty();
        return Ok(if rerunnable { rerun() } else { Decision::Wait(open) });
    }
    if record.failed {
        return Ok(rerun());
    }
    if record.output.is_some() || record.route.is_some() || record.transfer_to_agent.is_some() {
        return Ok(fast_forward(recorded_output(spec, record)?));
    }
    if !record.interrupts.is_empty() {
        if !spec.rerun_on_resume {
            return Ok(fast_forward(answer_as_output(record)));
        }
        let done = record.finished && !spec.wait_for_output && !spec.always_gives;
        return Ok(if done { fast_forward(NodeInput::Null) } else { rerun() });
    }
    let outcome_is_due = spec.wait_for_output || spec.always_gives;
    let run = outcome_is_due || if spec.rerun_on_resume { !record.finished } else { dynamic };
    Ok(if run { rerun() } else { fast_forward(NodeInput::Null) })
}

/// The answers of a run, as its context shows them.
fn answers(record: &RunRecord) -> Option<Arc<Map>> {
    let given = || record.answers.iter().map(|(id, answer)| (id.clone(), answer.clone()));
    (!record.answers.is_empty()).then(|| Arc::new(given().collect()))
}

/// The answers as the output of a node that does not run again: the answer itself, or a map of several (R908).
fn answer_as_output(record: &RunRecord) -> NodeInput {
    let mut answers = record.answers.clone();
    match answers.len() {
        1 => answers.pop_first().map_or(NodeInput::Null, |(_, answer)| NodeInput::json(answer)),
        _ => NodeInput::json(Value::Object(answers.into_iter().collect())),
    }
}

/// A message that stood for the output is read as the node's output type again (R1012).
fn recorded_output(spec: &NodeSpec, record: &RunRecord) -> Result<NodeInput, NodeError> {
    let Some(output) = record.output.clone() else { return Ok(NodeInput::Null) };
    let Some(content) = output.content() else { return Ok(output) };
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
        let message = format!("the recorded output of '{}' does not fit its schema '{}'", spec.name, schema.name());
        return Err(NodeError::data(message));
    }
    tracing::warn!(node = %spec.name, "the recorded output does not fit the schema; it is used as it is");
    Ok(NodeInput::json(parsed))
}

/// Lets replayed runs complete in their historical order (R1020).
///
/// Runs outside of the recorded sequence never wait; runs in it that are executed again hold their place until they
/// complete.
#[derive(Debug)]
pub(crate) struct ReplayGate<T> {
    places: FxHashMap<NodePath, usize>,
    done: Vec<bool>,
    next: usize,
    held: BTreeMap<usize, T>,
}

impl<T> Default for ReplayGate<T> {
    fn default() -> Self {
        Self { places: FxHashMap::default(), done: Vec::new(), next: 0, held: BTreeMap::new() }
    }
}

impl<T> ReplayGate<T> {
    /// The gate of the children of `parent`.
    pub(crate) fn new(history: &History, parent: &NodePath) -> Self {
        let places: FxHashMap<NodePath, usize> =
            history.sequence(parent).into_iter().enumerate().map(|(place, path)| (path, place)).collect();
        Self { done: vec![false; places.len()], places, next: 0, held: BTreeMap::new() }
    }

    /// The place of a run in the recorded sequence; runs outside come last.
    pub(crate) fn place(&self, path: &NodePath) -> usize {
        self.places.get(path).copied().unwrap_or(usize::MAX)
    }

    /// Holds a replayed completion until its turn; gives it back when it need not wait.
    pub(crate) fn hold(&mut self, path: &NodePath, completion: T) -> Option<T> {
        match self.places.get(path) {
            Some(&place) if place > self.next => {
                self.held.insert(place, completion);
                None
            }
            _ => Some(completion),
        }
    }

    /// Notes that a run has completed.
    pub(crate) fn complete(&mut self, path: &NodePath) {
        let Some(&place) = self.places.get(path) else { return };
        self.done[place] = true;
        while self.done.get(self.next).copied().unwrap_or(false) {
            self.next += 1;
        }
    }

    /// The next held completion whose turn has come.
    pub(crate) fn release(&mut self) -> Option<T> {
        let first = self.held.first_entry()?;
        (*first.key() <= self.next).then(|| first.remove())
    }

    /// Whether completions are held.
    pub(crate) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// The run that everything held waits for.
    pub(crate) fn awaited(&self) -> Option<&NodePath> {
        self.places.iter().find(|(_, place)| **place == self.next).map(|(path, _)| path)
    }
}
