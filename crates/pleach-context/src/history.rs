//! What an invocation has already done, read from its events once.
//!
//! Nothing but events records execution (R1001). This index answers, for every run that left a trace, what came of it;
//! deciding what a resume does with the answer is the workflow engine's part.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pleach_core::{Event, InvocationId, NodePath, Route};
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::NodeInput;
use crate::schema::{check_answer, unwrap_response};

/// What history says about one run, found by its path (R1003, R1004).
#[derive(Clone, Debug, Default)]
pub struct RunRecord {
    /// The last output, or the message that stands for it.
    pub output: Option<NodeInput>,
    /// The last route.
    pub route: Option<Route>,
    /// The agent that the run handed over to.
    pub transfer_to_agent: Option<String>,
    /// Whether the last outcome was an error.
    pub failed: bool,
    /// Every question that the run or a run below it has asked.
    pub interrupts: BTreeSet<String>,
    /// The answers that have come, by question.
    pub answers: BTreeMap<String, Value>,
    /// The branch that the run ended on; `None` when its last output does not say: then it is the one it started on.
    pub branch: Option<pleach_core::Branch>,
    /// The isolation scope of the run.
    pub isolation_scope: Option<Arc<str>>,
    /// Whether the run completed after its last answer, or since its start.
    pub finished: bool,
    /// Where the run's last outcome stands in history.
    place: Option<usize>,
    /// Whether a result closed the run: later echoes do not move its place.
    closed: bool,
}

impl RunRecord {
    /// The questions that have no answer yet.
    #[must_use]
    pub fn open(&self) -> Vec<String> {
        self.interrupts.iter().filter(|id| !self.answers.contains_key(*id)).cloned().collect()
    }

    /// Where the run's last outcome stands among those of its siblings; `None` if it must not be waited for (R1020).
    #[must_use]
    pub fn place(&self) -> Option<usize> {
        self.place
    }
}

/// The runs of one invocation that left events.
#[derive(Clone, Debug, Default)]
pub struct History {
    runs: FxHashMap<NodePath, RunRecord>,
    children: FxHashMap<NodePath, Vec<NodePath>>,
    owners: FxHashMap<String, NodePath>,
    schemas: FxHashMap<String, Value>,
}

impl History {
    /// Reads the live events of `invocation` from a session's events, in order (R1002, R1003).
    #[must_use]
    pub fn read<'a>(events: impl IntoIterator<Item = &'a Arc<Event>>, invocation: &InvocationId) -> Self {
        let mut history = Self::default();
        for (place, event) in events.into_iter().enumerate() {
            if event.invocation_id() == invocation {
                history.add(place, event);
            }
        }
        history
    }

    /// What is known about the run at `path`.
    #[must_use]
    pub fn run(&self, path: &NodePath) -> Option<&RunRecord> {
        self.runs.get(path)
    }

    /// The direct children of `parent` in the order of their last outcomes (R1020).
    #[must_use]
    pub fn sequence(&self, parent: &NodePath) -> Vec<NodePath> {
        let children = self.children.get(parent).into_iter().flatten();
        let placed = |path| Some((self.runs.get(path)?.place?, path));
        let mut placed: Vec<(usize, &NodePath)> = children.filter_map(placed).collect();
        placed.sort_unstable_by_key(|(place, _)| *place);
        placed.into_iter().map(|(_, path)| path.clone()).collect()
    }

    /// The direct children of `parent` that left events, in the order of their first ones.
    #[must_use]
    pub fn children(&self, parent: &NodePath) -> &[NodePath] {
        self.children.get(parent).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether nothing has been recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    fn add(&mut self, place: usize, event: &Arc<Event>) {
        if event.author() == "user" {
            self.add_answers(event);
        } else if !event.path().is_root() {
            self.add_run_event(place, event);
        }
    }

    fn add_answers(&mut self, event: &Event) {
        for response in event.function_responses() {
            let Some(id) = response.id.as_deref() else { continue };
            let empty = pleach_core::Map::new();
            let mut answer = unwrap_response(response.response.as_ref().unwrap_or(&empty));
            if let Some(schema) = self.schemas.get(id) {
                // An answer that does not fit was refused by us before it was stored; one that another writer stored
                // leaves the question open, and a later good one wins (R907).
                match check_answer(schema, answer) {
                    Ok(fitting) => answer = fitting,
                    Err(_) => continue,
                }
            }
            match self.owners.get(id).cloned() {
                Some(owner) => self.answer(&owner, id, &answer),
                None => self.answer_by_branch(event, &answer),
            }
        }
    }

    /// Records the answer for the asking run and for all runs above it.
    fn answer(&mut self, owner: &NodePath, id: &str, answer: &Value) {
        let mut path = Some(owner.clone());
        while let Some(current) = path {
            if let Some(run) = self.runs.get_mut(&current) {
                run.take_answer(id, answer);
            }
            path = current.parent().filter(|parent| !parent.is_root());
        }
    }

    /// An answer to a call that runs on a branch named after a question answers that question.
    fn answer_by_branch(&mut self, event: &Event, answer: &Value) {
        let Some(branch) = event.branch() else { return };
        let ids: Vec<String> = branch.run_ids().map(Into::into).collect();
        for run in self.runs.values_mut() {
            let matching: Vec<&String> = ids.iter().filter(|id| run.interrupts.contains(*id)).collect();
            for id in matching {
                run.take_answer(id, answer);
            }
        }
    }

    fn add_run_event(&mut self, place: usize, event: &Arc<Event>) {
        let interrupts = event.interrupt_ids();
        for call in event.function_calls() {
            let schema = call.args.as_ref().and_then(|args| args.get("response_schema"));
            if let (Some(id), Some(schema)) = (&call.id, schema.filter(|schema| schema.is_object()))
                && interrupts.contains(id.as_str())
                && call.name.as_deref() == Some(pleach_core::REQUEST_INPUT)
            {
                self.schemas.insert(id.clone(), schema.clone());
            }
        }
        for id in &interrupts {
            self.owners.insert((*id).to_owned(), event.path().clone());
        }
        let mut path = Some(event.path().clone());
        while let Some(owner) = path {
            path = owner.parent().filter(|parent| !parent.is_root());
            let direct = owner == *event.path();
            let delegated = has_result_output(event) && !direct && event.is_output_for(&owner);
            if !self.runs.contains_key(&owner) {
                let parent = owner.parent().unwrap_or_default();
                self.children.entry(parent).or_default().push(owner.clone());
            }
            let run = self.runs.entry(owner).or_default();
            if direct || delegated {
                run.take_outcome(event, direct);
            }
            for id in &interrupts {
                run.interrupts.insert((*id).to_owned());
                run.answers.remove(*id);
            }
            if direct {
                let has_calls = event.function_calls().next().is_some() || event.function_responses().next().is_some();
                run.finished = interrupts.is_empty() && !run.failed && !event.is_partial() && !has_calls;
            }
            if direct || delegated || !interrupts.is_empty() {
                run.take_place(place, event, !interrupts.is_empty());
            }
        }
    }
}

impl RunRecord {
    fn take_answer(&mut self, id: &str, answer: &Value) {
        if self.interrupts.contains(id) {
            self.answers.insert(id.to_owned(), answer.clone());
            // The run paused to ask this, so what it gave before is not its result.
            self.output = None;
            self.finished = false;
        }
    }

    fn take_outcome(&mut self, event: &Arc<Event>, direct: bool) {
        let claimed = event.output().is_some()
            && event.node_info().output_for().is_some_and(|paths| paths.len() > 1)
            && event.function_responses().next().is_none();
        if direct {
            if let Some(scope) = event.isolation_scope() {
                self.isolation_scope = Some(scope.into());
            }
            if !claimed && (event.branch().is_some() || event.output().is_some()) {
                self.branch = event.branch().cloned();
            }
        }
        if event.output().is_some() {
            self.output = Some(NodeInput::Output(Arc::clone(event)));
        } else if has_result_output(event) {
            self.output = Some(NodeInput::Content(Arc::clone(event)));
        }
        if let Some(route) = event.actions().route() {
            self.route = Some(route.clone());
        }
        if let Some(target) = event.actions().transfer_to_agent() {
            self.transfer_to_agent = Some(target.to_owned());
        }
        if has_result(event) || (event.error_code().is_none() && !event.is_partial()) {
            self.failed = false;
        } else if event.error_code().is_some() {
            self.failed = true;
        }
    }

    fn take_place(&mut self, place: usize, event: &Event, interrupts: bool) {
        let result = has_result(event);
        let error = event.error_code().is_some();
        if !(result || error || interrupts) || self.closed {
            return;
        }
        if error && !result && !interrupts {
            self.place = None;
            return;
        }
        self.place = Some(place);
        self.closed = !interrupts && result;
    }
}

fn has_result_output(event: &Event) -> bool {
    event.output().is_some() || (event.node_info().message_as_output() == Some(true) && event.content().is_some())
}

fn has_result(event: &Event) -> bool {
    let actions = event.actions();
    has_result_output(event) || actions.route().is_some() || actions.transfer_to_agent().is_some()
}
