//! [`RunRecord`]: what history says about one run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pleach_core::{Branch, Event, NodePath, Route};
use serde_json::Value;

use super::notes::{ends_attempt, pending_route};
use crate::{ChildFailure, NodeInput};

/// What history says about one run, found by its path.
// R1003, R1004
#[derive(Clone, Debug, Default)]
pub struct RunRecord {
    /// The last output, or the message that takes its place.
    pub output: Option<NodeInput>,
    /// Whether the route and the transfer were chosen before the last answer came.
    pub chose_before_answer: bool,
    /// Whether the last outcome was an error.
    pub failed: bool,
    /// The branch on which the run ended. `None` if the last output names no branch: the run then ended on the branch
    /// on which it started.
    pub branch: Option<Branch>,
    /// Whether the run completed after its last answer, or after its start if it got none.
    pub finished: bool,
    /// Whether history says explicitly that the run has completed. A run that is marked in this way and has no result
    /// returned none.
    pub completed: bool,
    /// Whether the output is a child's event, and nothing records that the run itself has completed since.
    pub delegated: bool,
    /// The data that only few runs have.
    details: Option<Box<Details>>,
    /// When the run left its last event or got its last answer; 0 before.
    own: u32,
    /// When the run, or a run below it, left its last event or got its last answer.
    last: u32,
    /// When history first said that the run completed; 0 before.
    completion_recorded_at: u32,
    /// When the run, or a run below it, left its first event; 0 before.
    began: u32,
}

#[derive(Clone, Debug, Default)]
struct Details {
    route: Option<Route>,
    transfer_to_agent: Option<Box<str>>,
    isolation_scope: Option<Arc<str>>,
    questions: Option<Questions>,
    /// The failure after which the run's caller continued, and when that was recorded.
    caught: Option<(Box<ChildFailure>, u32)>,
    /// When an attempt of the run last failed with an error event of its own; 0 before.
    failed_at: u32,
}

#[derive(Clone, Debug, Default)]
struct Questions {
    /// Every question that the run or a run below it has asked, with the number of runs that wait for its answer.
    waiting: BTreeMap<String, u32>,
    answers: BTreeMap<String, Value>,
    /// The selects of the run, by number.
    selects: BTreeMap<String, Select>,
    /// When the last question was asked.
    asked: u32,
    /// When the last answer came; 0 before.
    answered: u32,
}

/// A select: several questions of which only one is answered.
#[derive(Clone, Debug, Default)]
struct Select {
    questions: BTreeSet<String>,
    /// The question that was answered, and its answer.
    first: Option<(String, Value)>,
}

/// Added to inferred completion times, so that recorded completions always come before them: a run is marked as soon
/// as it has completed. Times are numbers of events and never get this high.
const INFERRED: u32 = 1 << 31;

impl RunRecord {
    /// Returns the questions of the run and the runs below it that have no answer yet.
    #[must_use]
    pub fn open(&self) -> Vec<String> {
        self.unanswered().cloned().collect()
    }

    /// Returns `true` if a question has no answer yet.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.unanswered().next().is_some()
    }

    fn unanswered<'a>(&'a self) -> impl Iterator<Item = &'a String> {
        let waiting = |asked: &'a Questions| asked.waiting.iter().filter(|(_, runs)| **runs > 0).map(|(id, _)| id);
        self.questions().into_iter().flat_map(waiting)
    }

    /// The last route.
    #[must_use]
    pub fn route(&self) -> Option<&Route> {
        self.details.as_ref()?.route.as_ref()
    }

    /// The agent that the run transferred to.
    #[must_use]
    pub fn transfer_to_agent(&self) -> Option<&str> {
        self.details.as_ref()?.transfer_to_agent.as_deref()
    }

    /// The isolation scope of the run.
    #[must_use]
    pub fn isolation_scope(&self) -> Option<&Arc<str>> {
        self.details.as_ref()?.isolation_scope.as_ref()
    }

    /// The failure after which the run's caller continued, and when that was recorded.
    pub(super) fn caught(&self) -> Option<(&ChildFailure, u32)> {
        let (failure, time) = self.details.as_ref()?.caught.as_ref()?;
        Some((failure, *time))
    }

    pub(super) fn catch(&mut self, failure: ChildFailure, now: u32) {
        self.details_mut().caught = Some((Box::new(failure), now));
    }

    /// When an attempt of the run last failed with an error event of its own; 0 before.
    pub(super) fn failed_at(&self) -> u32 {
        self.details.as_ref().map_or(0, |details| details.failed_at)
    }

    /// Drops the caught failure, because the run has continued since.
    fn forget_caught(&mut self) {
        if let Some(details) = &mut self.details {
            details.caught = None;
        }
    }

    /// Records that the run has completed after the child whose event is its output.
    pub(super) fn complete_delegation(&mut self, output: Option<&Value>) {
        self.delegated = false;
        if let Some(output) = output {
            self.output = Some(NodeInput::json(output.clone()));
        }
    }

    /// Returns `true` if the run has chosen a route, or an agent to transfer to.
    #[must_use]
    pub fn chose(&self) -> bool {
        self.route().is_some() || self.transfer_to_agent().is_some()
    }

    /// Returns the route that belongs to the result. If the run resumes with answers, a route that it chose before them
    /// does not.
    #[must_use]
    pub fn result_route(&self, rerun_on_resume: bool) -> Option<&Route> {
        self.route().filter(|_| !(rerun_on_resume && self.chose_before_answer))
    }

    /// Returns `true` if the last record is an answer, and nothing has followed from it yet.
    #[must_use]
    pub fn is_just_answered(&self) -> bool {
        self.questions().is_some_and(|asked| asked.answered > 0 && asked.answered == self.last)
    }

    /// Returns `true` if the run, or a run below it, waits for an answer, and has asked since the last answer.
    #[must_use]
    pub fn asks_last(&self) -> bool {
        self.is_open() && self.questions().is_some_and(|asked| asked.asked > asked.answered)
    }

    /// Returns `true` if the run, or a run below it, has asked anything.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.questions().is_some()
    }

    /// Returns the answers that have come, by question id.
    #[must_use]
    pub fn answers(&self) -> &BTreeMap<String, Value> {
        static NONE: BTreeMap<String, Value> = BTreeMap::new();
        self.questions().map_or(&NONE, |asked| &asked.answers)
    }

    /// Returns `true` if the run, or a run below it, waits for the answer to this question.
    pub(super) fn waits_for(&self, id: &str) -> bool {
        self.questions().is_some_and(|asked| asked.waiting.get(id).is_some_and(|runs| *runs > 0))
    }

    /// Returns when the run completed, if it did. The number only orders runs.
    /// A run whose output is its answer completes with the last answer, not with its question. Results that its
    /// siblings produced in between come first.
    // R1020
    #[must_use]
    pub fn completed_at(&self) -> u32 {
        self.at(self.own)
    }

    /// Returns when the run asked its last question.
    #[must_use]
    pub fn asked_at(&self) -> u32 {
        self.at(self.questions().map_or(0, |asked| asked.asked))
    }

    /// Returns when a workflow completed: with the last of the runs below it.
    #[must_use]
    pub fn ended_at(&self) -> u32 {
        self.at(self.last)
    }

    fn at(&self, time: u32) -> u32 {
        if self.completion_recorded_at > 0 { self.completion_recorded_at } else { INFERRED + time }
    }

    /// Returns `true` if this run began after the last event of the other run and of the runs below that one.
    #[must_use]
    pub fn began_after(&self, other: &Self) -> bool {
        self.began > other.last
    }

    pub(super) fn begin(&mut self, now: u32) {
        if self.began == 0 {
            self.began = now;
        }
    }

    /// Returns `true` if history says explicitly when the run completed.
    #[must_use]
    pub fn has_recorded_completion(&self) -> bool {
        self.completion_recorded_at > 0
    }

    fn has_own(&self) -> bool {
        self.own > 0
    }

    /// Records that the run, or one below it, asks. `waits` says that the asking run already waited for an answer
    /// with this id. The answer of a select is kept in the select, so its questions change no earlier answer.
    pub(super) fn ask(&mut self, id: &str, waits: bool, in_select: bool, now: u32) {
        let questions = self.details_mut().questions.get_or_insert_default();
        *questions.waiting.entry(id.to_owned()).or_default() += u32::from(!waits);
        if !in_select {
            questions.answers.remove(id);
        }
        questions.asked = now;
    }

    /// Records that a question of the run belongs to one of its selects.
    pub(super) fn join_select(&mut self, select: &str, id: &str) {
        let questions = self.details_mut().questions.get_or_insert_default();
        let select = questions.selects.entry(select.to_owned()).or_default();
        select.questions.insert(id.to_owned());
        select.first = None;
    }

    /// Records which question of a select was answered first. Returns the other questions that wait, each with one
    /// waiting run.
    pub(super) fn decide(&mut self, select: &str, id: &str, answer: &Value) -> Vec<(String, u32)> {
        let Some(questions) = self.questions_mut() else { return Vec::new() };
        let Some(select) = questions.selects.get_mut(select) else { return Vec::new() };
        if select.first.as_ref().is_some_and(|(first, _)| first != id) {
            return Vec::new();
        }
        select.first = Some((id.to_owned(), answer.clone()));
        let waits = |other: &&String| *other != id && questions.waiting.get(*other).is_some_and(|runs| *runs > 0);
        select.questions.iter().filter(waits).map(|other| (other.clone(), 1)).collect()
    }

    /// Returns `true` if a select of the run has asked.
    pub(super) fn has_asked(&self, select: &str) -> bool {
        self.questions().is_some_and(|asked| asked.selects.contains_key(select))
    }

    /// Returns the question of a select of the run that was answered first, and its answer.
    pub(super) fn selected(&self, select: &str) -> Option<(&str, &Value)> {
        let (id, answer) = self.questions()?.selects.get(select)?.first.as_ref()?;
        Some((id, answer))
    }

    fn questions(&self) -> Option<&Questions> {
        self.details.as_ref()?.questions.as_ref()
    }

    fn questions_mut(&mut self) -> Option<&mut Questions> {
        self.details.as_mut()?.questions.as_mut()
    }

    fn details_mut(&mut self) -> &mut Details {
        self.details.get_or_insert_default()
    }

    /// Records that the run has completed: it no longer waits for any question that is still unanswered. Returns those
    /// questions, each with the number of runs that waited.
    pub(super) fn complete(&mut self, now: u32) -> Vec<(String, u32)> {
        self.completed = true;
        self.failed = false;
        self.delegated = false;
        if self.completion_recorded_at == 0 {
            self.completion_recorded_at = now;
        }
        let waiting = self.questions_mut().into_iter().flat_map(|asked| asked.waiting.iter_mut());
        let dropped = waiting.filter(|(_, runs)| **runs > 0);
        dropped.map(|(id, runs)| (id.clone(), std::mem::take(runs))).collect()
    }

    /// Records that runs below this one no longer wait. For each question, `dropped` has the number of such runs.
    pub(super) fn drop_waiting(&mut self, dropped: &[(String, u32)]) {
        let Some(asked) = self.questions_mut() else { return };
        for (id, runs) in dropped {
            if let Some(waiting) = asked.waiting.get_mut(id) {
                *waiting = waiting.saturating_sub(*runs);
            }
        }
    }

    /// Records the answer to a question that the run, or one below it, waited for.
    pub(super) fn take_answer(&mut self, id: &str, answer: &Value, in_select: bool, now: u32) {
        let Some(questions) = self.questions_mut() else { return };
        let Some(waiting) = questions.waiting.get_mut(id) else { return };
        *waiting = waiting.saturating_sub(1);
        let known = questions.answers.contains_key(id);
        if !(in_select && known) {
            questions.answers.insert(id.to_owned(), answer.clone());
        }
        questions.answered = now;
        self.own = now;
        self.last = now;
        // The run paused to ask this, so its earlier output is not its result.
        self.output = None;
        self.delegated = false;
        self.finished = false;
        self.completed = false;
        self.chose_before_answer = self.chose();
    }

    /// Replaces the first answer by a newer one. What the run, or one below it, derived from the first answer is
    /// dropped.
    pub(super) fn replace_answer(&mut self, id: &str, answer: &Value) {
        if let Some(given) = self.questions_mut().and_then(|asked| asked.answers.get_mut(id)) {
            *given = answer.clone();
            self.output = None;
            self.finished = false;
            self.completed = false;
            self.chose_before_answer = self.chose();
        }
    }

    /// When the last answer came; 0 before.
    pub(super) fn answered(&self) -> u32 {
        self.questions().map_or(0, |asked| asked.answered)
    }

    /// Returns when history says that the run completed; 0 if it does not say so.
    pub(super) fn recorded_complete_at(&self) -> u32 {
        if self.completed { self.completion_recorded_at } else { 0 }
    }

    /// Returns when the run completed according to its own events; 0 if they do not show it. A result completes the
    /// run. If a message can complete the run, any event that ends it completes it as well.
    pub(super) fn gave_at(&self, message_completes: impl FnOnce() -> bool) -> u32 {
        let has_result = || self.output.is_some() || (self.chose() && !self.chose_before_answer) || self.completed;
        let has_ended = self.finished && !self.failed && !self.is_open();
        if has_ended && (has_result() || message_completes()) { self.own } else { 0 }
    }

    /// Returns when the run, or a run below it, left its first event. The number only orders runs. `None` if only other
    /// runs have named this run.
    #[must_use]
    pub fn began(&self) -> Option<u32> {
        (self.began > 0).then_some(self.began)
    }

    /// Records an event of the run. If `finishes` is true, the event finishes the run unless the run failed.
    pub(super) fn take_own(&mut self, event: &Arc<Event>, now: u32, echo: bool, finishes: bool) {
        let known = echo && self.has_own();
        self.forget_caught();
        if ends_attempt(event) {
            self.details_mut().failed_at = now;
        }
        self.delegated &= event.is_partial();
        if let Some(scope) = event.isolation_scope() {
            self.details_mut().isolation_scope = Some(scope.into());
        }
        let is_from_delegate = event.output().is_some()
            && event.node_info().output_for().is_some_and(|paths| paths.len() > 1)
            && event.function_responses().next().is_none();
        if !is_from_delegate && !known && (event.branch().is_some() || event.output().is_some()) {
            self.branch = event.branch().cloned();
        }
        if let Some(route) = event.actions().route().cloned().or_else(|| pending_route(event)) {
            self.details_mut().route = Some(route);
            self.chose_before_answer = false;
        }
        self.take_outcome(event);
        if !known {
            self.touch(event, now);
        }
        self.finished = finishes && !self.failed;
    }

    /// Records an event of a run below this one, which is at `path`.
    pub(super) fn take_from_below(&mut self, event: &Arc<Event>, path: &NodePath, now: u32, echo: bool) {
        let known = echo && self.has_own();
        self.forget_caught();
        let delegated = has_result_output(event) && event.is_output_for(path);
        if delegated {
            self.take_outcome(event);
            self.delegated = true;
        }
        if delegated && !known {
            self.touch(event, now);
        } else if !known {
            self.last = now;
        }
    }

    /// Records the time of an event of the run, or of a run that shares its output.
    fn touch(&mut self, event: &Event, now: u32) {
        self.last = now;
        if !event.is_partial() {
            self.own = now;
        }
    }

    fn take_outcome(&mut self, event: &Arc<Event>) {
        if event.output().is_some() {
            self.output = Some(NodeInput::Output(Arc::clone(event)));
        } else if has_result_output(event) {
            self.output = Some(NodeInput::Content(Arc::clone(event)));
        }
        if let Some(target) = event.actions().transfer_to_agent() {
            self.details_mut().transfer_to_agent = Some(target.into());
            self.chose_before_answer = false;
        }
        if has_result(event) || (event.error_code().is_none() && !event.is_partial()) {
            self.failed = false;
        } else if event.error_code().is_some() {
            self.failed = true;
        }
    }
}

/// Returns `true` if the event repeats the output of a run. Such an event does not name the run whose output it is.
// R1031
pub(super) fn is_echo(event: &Event) -> bool {
    event.output().is_some() && event.node_info().output_for().is_none()
}

fn has_result_output(event: &Event) -> bool {
    event.output().is_some() || (event.node_info().message_as_output() == Some(true) && event.content().is_some())
}

fn has_result(event: &Event) -> bool {
    let actions = event.actions();
    has_result_output(event) || actions.route().is_some() || actions.transfer_to_agent().is_some()
}
