//! [`History`]: what an invocation has already done. It is read from the events of the invocation once.
//!
//! Only events record execution. For every run that left an event, the history knows its results, questions and
//! answers. The workflow engine decides what a resume does with them.
// R1001

mod answers;
mod askers;
mod notes;
mod of_root;
mod planned_runs;
mod record;
mod runs;
mod signals;
mod takers;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use foldhash::{HashMap, HashSet};
use pleach_core::{Event, InvocationId, NodePath};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;

pub use answers::AnswerState;
pub(crate) use notes::{Notes, mark, mark_pending_route, mark_rounds};
pub use notes::{
    caller_of_task, completed_runs, is_reported, mark_completed, mark_reported, mark_task_response, round_of,
};
pub use planned_runs::{PlannedRun, PlannedRuns, ReplayState};
pub use record::RunRecord;
pub use runs::RunKey;
pub(crate) use signals::{KeptSignal, Signals};

use askers::{Asker, Askers};
use pleach_session::effective_events_of;
use record::is_echo;
use runs::{Run, Runs};
use takers::Takers;

use crate::ChildFailure;

/// The runs of one invocation that left events.
#[derive(Default)]
pub struct History {
    runs: Runs,
    /// The runs that asked each question, by question id.
    askers: HashMap<String, Askers>,
    /// The number of events read so far. It orders the records.
    now: u32,
    /// The authors of the events that end a workflow. These events have no path.
    ended: HashSet<SmolStr>,
    /// The runs that later events prove to be complete.
    complete: Mutex<FxHashSet<RunKey>>,
    /// The plans that an engine made while it checked the workflow, for runs that have not started.
    plans: Mutex<FxHashMap<RunKey, PlannedRuns>>,
    /// The rule for messages. If it is `None`, a message completes no run.
    message_completes: Option<CompletionRule>,
    /// The completed runs. They are computed when a second answer to a question needs them.
    takers: OnceLock<Takers>,
    signals: Signals,
    /// Whether there is a checkpoint of a workflow, which records the completed runs.
    records_ends: bool,
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").field("runs", &self.runs).finish_non_exhaustive()
    }
}

/// Decides whether a message without an output completes the run at a path.
type CompletionRule = Box<dyn Fn(&NodePath) -> bool + Send + Sync>;

/// A run that left events.
#[derive(Clone, Copy, Debug)]
pub struct RecordedRun<'a> {
    /// The key of the run; see [`History::at`].
    pub key: RunKey,
    /// The path of the run.
    pub path: &'a NodePath,
    /// The record of the run.
    pub record: &'a RunRecord,
}

/// The limits of a run's path, in bytes and in segments. Paths may come from another program. Every run above a run
/// has a path of its own, so a path needs memory in proportion to the square of its length.
const MAX_BYTES: usize = 16 * 1024;
const MAX_SEGMENTS: usize = 256;
/// The limit of bytes for the paths of all runs: enough for a million runs with paths of about a hundred bytes. A path
/// of maximal length needs two megabytes for the paths above it, so a log of a few megabytes could fill the memory.
const MAX_PATH_BYTES: usize = 128 << 20;

/// Returns `true` if a path names a run that can be kept. An event with any other path belongs to no run.
fn is_usable(path: &NodePath) -> bool {
    let bytes = path.as_str().len();
    // Most paths have fewer bytes than the limit of segments, so their segments need not be counted.
    !path.is_root() && bytes <= MAX_BYTES && (bytes < MAX_SEGMENTS || path.segments().count() <= MAX_SEGMENTS)
}

impl History {
    /// Reads the effective events of `invocation` from the events of its session.
    // R1002, R1003, R1141
    #[must_use]
    pub fn read(events: &[Arc<Event>], invocation: &InvocationId) -> Self {
        Self::of(&effective_events_of(events, invocation))
    }

    /// Reads the effective events of one invocation, in order. For engines.
    #[must_use]
    pub fn of(own: &[&Arc<Event>]) -> Self {
        Self::with_rule(own, None)
    }

    /// Reads events with a rule for messages. The rule is needed while the events are read, because whether an answer
    /// replaces another one depends on the runs that completed before it.
    fn with_rule(own: &[&Arc<Event>], message_completes: Option<CompletionRule>) -> Self {
        let mut history = Self { runs: Runs::with_capacity(own.len()), message_completes, ..Self::default() };
        own.iter().for_each(|event| history.add(event));
        history
    }

    /// Returns `true` if events with this path belong to a run. They do not if the path is too long, or if the paths
    /// of all runs already take too much memory. No engine makes such paths.
    #[must_use]
    pub fn keeps(&self, path: &NodePath) -> bool {
        is_usable(path) && (self.runs.path_bytes() < MAX_PATH_BYTES || self.runs.find(path).is_some())
    }

    /// Returns the record of the run at `path`.
    #[must_use]
    pub fn run(&self, path: &NodePath) -> Option<&RunRecord> {
        self.runs.find(path).map(|key| self.at(key).record)
    }

    pub(crate) fn keep_plan(&self, path: &NodePath, plan: PlannedRuns) {
        if let Some(key) = self.runs.find(path) {
            self.plans().insert(key, plan);
        }
    }

    pub(crate) fn take_plan(&self, path: &NodePath) -> Option<PlannedRuns> {
        let key = self.runs.find(path)?;
        self.plans().remove(&key)
    }

    fn plans(&self) -> MutexGuard<'_, FxHashMap<RunKey, PlannedRuns>> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note_complete(&self, key: RunKey) {
        self.complete.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }

    /// Returns `true` if the workflow run at `path`, and with it everything below it, is proven to be complete. For
    /// engines.
    #[must_use]
    pub fn is_complete(&self, path: &NodePath) -> bool {
        let known = |key: &RunKey| self.complete.lock().unwrap_or_else(PoisonError::into_inner).contains(key);
        self.runs.find(path).is_some_and(|key| known(&key) || self.has_ended(key))
    }

    /// Returns `true` if an end event belongs to this run. End events carry only a name, so this holds only for a root
    /// run, and only if no other run has the same name.
    fn has_ended(&self, key: RunKey) -> bool {
        let run = self.runs.at(key);
        let name = run.path.name();
        run.parent.is_none()
            && self.ended.contains(name)
            && self.runs.iter().filter(|other| other.path.name() == name).count() == 1
    }

    /// Returns the run with this key.
    ///
    /// # Panics
    /// If the key belongs to another history and is out of range here. Another history's key within the range returns
    /// the wrong run.
    #[must_use]
    pub fn at(&self, key: RunKey) -> RecordedRun<'_> {
        let Run { path, record, .. } = self.runs.at(key);
        RecordedRun { key, path, record }
    }

    /// Returns the failure of the run at `path` after which its caller continued. What history recorded afterwards
    /// follows from the failure.
    ///
    /// The failure is effective until the attempt that caught it fails. That is an attempt of the caller or of a run
    /// above it.
    #[must_use]
    pub fn caught_failure(&self, path: &NodePath) -> Option<&ChildFailure> {
        let mut run = self.runs.at(self.runs.find(path)?);
        let (failure, caught_at) = run.record.caught()?;
        while let Some(parent) = run.parent {
            run = self.runs.at(parent);
            // If the attempt that caught the failure sent nothing before it failed, its error event carries the note.
            if run.record.failed_at() >= caught_at {
                return None;
            }
        }
        Some(failure)
    }

    /// Iterates over the direct children of `parent` that left events, in the order of their first events.
    pub fn children(&self, parent: &NodePath) -> impl ExactSizeIterator<Item = RecordedRun<'_>> {
        self.runs.children(parent).map(|key| self.at(key))
    }

    /// Returns when the run completed by its own events; 0 if it did not.
    fn gave_at(&self, run: &Run) -> u32 {
        run.record.gave_at(|| self.message_completes.as_ref().is_some_and(|completes| completes(&run.path)))
    }

    /// Returns when the run completed, by its own events or by the record of another run; 0 if it did not.
    fn completed_at(&self, run: &Run) -> u32 {
        self.gave_at(run).max(run.record.recorded_complete_at())
    }

    fn takers(&self) -> &Takers {
        self.takers.get_or_init(|| Takers::of(&self.runs, |run| self.completed_at(run)))
    }

    /// Returns `true` if the app has recorded the completed runs, as resumable apps do. For engines.
    #[must_use]
    pub fn records_ends(&self) -> bool {
        self.records_ends
    }

    /// The signals that no run has taken.
    pub(crate) fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Iterates over a run and the runs above it.
    fn owners(&self, key: RunKey) -> impl Iterator<Item = &Run> {
        std::iter::successors(Some(self.runs.at(key)), |run| run.parent.map(|above| self.runs.at(above)))
    }

    /// Returns `true` if nothing has been recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.signals.is_empty()
    }

    /// Reads one more event. Plans that were made without it are removed. For engines.
    pub fn add(&mut self, event: &Arc<Event>) {
        self.plans.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.now += 1;
        if event.is_from_user() {
            // A message to a task continues a workflow that ended while the task waited.
            self.ended.retain(|_| event.content().is_none() || event.function_responses().next().is_some());
            // Metadata on a user's event is not the engine's, so notes in it are ignored.
            self.add_answers(event);
            self.signals.keep(event, self.now);
            // Exception: the Runner writes the metadata of a rewind.
            if event.actions().rewind_before_invocation_id().is_some() {
                self.takers.take();
                self.add_completed(event);
            }
            return;
        }
        self.takers.take();
        self.records_ends |= event.actions().agent_state().is_some_and(|state| state.contains_key("nodes"));
        if event.custom_metadata().is_some() {
            self.add_notes(event);
        }
        if event.path().is_root() && event.actions().end_of_agent() == Some(true) {
            self.ended.insert(event.author().into());
        } else if self.keeps(event.path()) {
            self.add_run_event(event);
        }
        self.add_completed(event);
    }

    /// Reads the runs that an event records as completed.
    fn add_completed(&mut self, event: &Event) {
        for path in completed_runs(event) {
            if !self.keeps(&path) {
                continue;
            }
            self.now += 1;
            let key = self.runs.key_of(&path);
            let dropped = self.runs.at_mut(key).record.complete(self.now);
            if !dropped.is_empty() {
                self.with_owners(key, |run| run.drop_waiting(&dropped));
            }
        }
    }

    /// Reads the notes that an event carries about other runs.
    fn add_notes(&mut self, event: &Event) {
        for (path, output) in notes::delegations(event) {
            if self.keeps(&path) {
                let key = self.runs.key_of(&path);
                self.runs.at_mut(key).record.complete_delegation(output);
            }
        }
        for (path, failure) in notes::caught_failures(event) {
            if self.keeps(&path) {
                let key = self.runs.key_of(&path);
                self.runs.at_mut(key).record.catch(failure, self.now);
            }
        }
    }

    /// Calls `change` for a run and all runs above it.
    fn with_owners(&mut self, key: RunKey, mut change: impl FnMut(&mut RunRecord)) {
        let mut next = Some(key);
        while let Some(key) = next {
            let run = self.runs.at_mut(key);
            change(&mut run.record);
            next = run.parent;
        }
    }

    fn add_run_event(&mut self, event: &Arc<Event>) {
        let key = self.runs.key_of(event.path());
        self.signals.note_taken(event);
        // Most events carry only an output, a route or state.
        let says = event.content().is_some() || event.long_running_tool_ids().is_some();
        let asks = says && self.add_questions(key, event);
        let calls = || event.function_calls().next().is_some() || event.function_responses().next().is_some();
        let continues = event.is_partial() || asks || (says && calls());
        let (now, echo) = (self.now, is_echo(event));
        let run = self.runs.at_mut(key);
        run.record.begin(now);
        run.record.take_own(event, now, echo, !continues);
        let mut above = run.parent;
        while let Some(key) = above {
            let run = self.runs.at_mut(key);
            run.record.begin(now);
            run.record.take_from_below(event, &run.path, now, echo);
            above = run.parent;
        }
    }

    /// Records the questions of an event. Returns `true` if it has any.
    fn add_questions(&mut self, key: RunKey, event: &Event) -> bool {
        let ids = event.interrupt_ids();
        let asks = !ids.is_empty();
        for id in ids {
            let call = event.function_calls().find(|call| call.id.as_deref() == Some(id));
            let asks = call.filter(|call| call.name.as_deref() == Some(pleach_core::REQUEST_INPUT));
            let argument = |name: &str| asks.and_then(|call| call.args.as_ref()?.get(name));
            let (schema, deadline) = (argument("response_schema"), argument("deadline").and_then(Value::as_f64));
            let schema = schema.filter(|schema| schema.is_object()).cloned();
            let select = argument("select").and_then(Value::as_str).map(str::to_owned);
            if let Some(select) = &select {
                self.runs.at_mut(key).record.join_select(select, id);
            }
            let is_select = select.is_some();
            let askers = self.askers.entry(id.to_owned()).or_default();
            askers.add(Asker { run: key, schema, deadline, select, branch: event.branch().cloned() });
            let (waited, now) = (self.at(key).record.waits_for(id), self.now);
            self.with_owners(key, |run| run.ask(id, waited, is_select, now));
        }
        asks
    }
}

#[cfg(test)]
mod tests {
    use pleach_core::{Content, FunctionResponse, Part, REQUEST_INPUT, RequestInput};

    use super::*;

    /// Completions are needed while the events are read: they decide which answer a later one replaces.
    #[test]
    fn r910_an_answer_behind_a_run_that_a_message_completed_replaces_nothing() {
        let answer = |answer: &str| {
            let response = pleach_core::Map::from_iter([("result".to_owned(), answer.into())]);
            let part = Part::function_response(FunctionResponse::new("q", REQUEST_INPUT, response));
            Event::from_author("user").with_content(Content::new("user", [part]))
        };
        let asks = RequestInput::<Value>::new().into_event("q").with_node_path("wf@1/ask@1");
        let says = Event::message("done").with_node_path("wf@1/says@1");
        let events = [asks, answer("one"), says, answer("two")].map(Arc::new);
        for (completes, expected) in [(true, "one"), (false, "two")] {
            let history = History::with_rule(&events.each_ref(), Some(Box::new(move |_| completes)));
            let record = history.run(&"wf@1/ask@1".into()).unwrap();
            assert_eq!(record.answers()["q"], expected);
        }
    }

    /// Each of these paths has 256 runs of its own, which take a megabyte.
    #[test]
    fn paths_beyond_what_can_be_kept_belong_to_no_run() {
        let path = |number: usize| format!("{number}{}", "/segment-of-a-path-@1".repeat(MAX_SEGMENTS - 1));
        let mut history = History::default();
        let mut bytes = 0;
        for number in 0..200 {
            let path = path(number);
            let before = history.runs.len();
            history.add(&Arc::new(Event::of(1).with_node_path(path.as_str())));
            bytes += if history.runs.len() > before { path.len() * MAX_SEGMENTS / 2 } else { 0 };
        }
        assert!((100 << 20..130 << 20).contains(&bytes), "{bytes}");
        // A known run stays known.
        assert!(history.keeps(&path(0).as_str().into()) && !history.keeps(&path(199).as_str().into()));
    }

    /// A path of 64,000 segments once took 2 GB of memory.
    #[test]
    fn d4_a_path_beyond_any_run_belongs_to_no_run() {
        let event = |path: &str| Arc::new(Event::of(1).with_node_path(path));
        let deep = |segments: usize| vec!["n@1"; segments].join("/");
        for (path, is_kept) in [
            (deep(MAX_SEGMENTS), true),
            (deep(MAX_SEGMENTS + 1), false),
            (deep(64_000), false),
            ("n".repeat(MAX_BYTES), true),
            ("n".repeat(MAX_BYTES + 1), false),
        ] {
            let history = History::of(&[&event(&path)]);
            assert_eq!(!history.is_empty(), is_kept, "{} bytes", path.len());
            let mut noted = Event::of(1);
            let note = serde_json::json!([{"run": path, "output": 1}]);
            noted.set_custom_metadata(Some(pleach_core::Map::from_iter([("pleach_delegated_runs".to_owned(), note)])));
            assert_eq!(!History::of(&[&Arc::new(noted)]).is_empty(), is_kept, "{} bytes in a note", path.len());
        }
    }
}
