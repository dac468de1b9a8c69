//! What an invocation has already done, read from its events once.
//!
//! Nothing but events records execution. This index answers, for every run that left a trace, what came of it;
//! deciding what a resume does with the answer is the workflow engine's part.
// R1001

mod notes;
mod of_root;
mod planned_runs;
mod record;
mod runs;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::{HashMap, HashSet};
use pleach_core::{Branch, Event, InvocationId, NodePath};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;

pub(crate) use notes::{Notes, mark_pending_route, mark_reported};
pub use notes::{mark_completed, notes_completed_runs};
pub use planned_runs::{PlannedRun, PlannedRuns, ReplayState};
pub use record::RunRecord;
pub use runs::RunKey;

use pleach_schema::{check_answer, unwrap_response};
use pleach_session::effective_events_of;
use record::is_echo;
use runs::{Run, Runs};

use crate::ChildFailure;

/// The runs of one invocation that left events.
#[derive(Default)]
pub struct History {
    runs: Runs,
    /// Who has asked a question, the last one last.
    askers: HashMap<String, Vec<Asker>>,
    /// Counts what has been read, to order it.
    now: u32,
    /// The authors of the events that end a workflow: they have no path.
    ended: HashSet<SmolStr>,
    /// The runs that are proven to be complete by what followed them.
    complete: Mutex<FxHashSet<RunKey>>,
    /// The plans that an engine made while it checked the workflow, for runs that have not started.
    plans: Mutex<FxHashMap<RunKey, PlannedRuns>>,
    /// Where it is unknown, a message completes no run.
    message_completes: Option<CompletionRule>,
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").field("runs", &self.runs).finish_non_exhaustive()
    }
}

/// Decides whether a message without an output completes the run at a path.
type CompletionRule = Box<dyn Fn(&NodePath) -> bool + Send + Sync>;

/// A run that has asked a question, and the shape of the answer that it wants.
#[derive(Debug)]
struct Asker {
    run: RunKey,
    schema: Option<Value>,
    /// The branch that the run was on.
    branch: Option<Branch>,
}

/// The state of a question's answer. See [`History::answer_to`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnswerState<'a> {
    /// A run waits for the answer.
    Waiting,
    /// This answer is stored, and no run that used it has completed: a newer answer replaces it.
    Replaceable(&'a Value),
    /// A run that used this answer has completed: a newer answer has no effect.
    Final(&'a Value),
    /// No recorded run asked the question; it may come from a program without nodes.
    Unknown,
}

/// A run that left events.
#[derive(Clone, Copy, Debug)]
pub struct RecordedRun<'a> {
    /// Where it is kept; see [`History::at`].
    pub key: RunKey,
    /// Its path.
    pub path: &'a NodePath,
    /// What is known about it.
    pub record: &'a RunRecord,
}

/// The longest path of a run, in bytes and in segments. Every run above one is a path of its own: what another program wrote
/// could take memory by the square of its length.
const MOST_BYTES: usize = 16 * 1024;
const MOST_SEGMENTS: usize = 256;

/// Whether a path names a run that can be kept; an event with another one belongs to no run.
fn is_usable(path: &NodePath) -> bool {
    !path.is_root() && path.as_str().len() <= MOST_BYTES && path.segments().count() <= MOST_SEGMENTS
}

/// Whether two branches are those of lanes beside each other: neither leads to the other.
fn are_apart(one: &Option<Branch>, other: &Option<Branch>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    let shared = one.segments().zip(other.segments()).take_while(|(one, other)| one == other).count();
    shared < one.segments().count() && shared < other.segments().count()
}

impl History {
    /// Reads the events of `invocation` that count among those of its session.
    // R1002, R1003, R1141
    #[must_use]
    pub fn read(events: &[Arc<Event>], invocation: &InvocationId) -> Self {
        Self::of(&effective_events_of(events, invocation))
    }

    /// Reads these events, which are those of one invocation that count, in order. For engines.
    #[must_use]
    pub fn of(own: &[&Arc<Event>]) -> Self {
        let mut history = Self { runs: Runs::with_capacity(own.len()), ..Self::default() };
        own.iter().for_each(|event| history.add(event));
        history
    }

    fn with_rule(own: &[&Arc<Event>], message_completes: CompletionRule) -> Self {
        Self { message_completes: Some(message_completes), ..Self::of(own) }
    }

    /// What is known about the run at `path`.
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

    /// Returns whether the workflow run at `path` is proven to be complete, and so everything below it. For engines.
    #[must_use]
    pub fn is_complete(&self, path: &NodePath) -> bool {
        let known = |key: &RunKey| self.complete.lock().unwrap_or_else(PoisonError::into_inner).contains(key);
        self.runs.find(path).is_some_and(|key| known(&key) || self.has_ended(key))
    }

    /// Whether an event ends this run, which is the root's: of another one the name could be that of several.
    fn has_ended(&self, key: RunKey) -> bool {
        let run = self.runs.at(key);
        let name = run.path.name();
        run.parent.is_none()
            && self.ended.contains(name)
            && self.runs.iter().filter(|other| other.path.name() == name).count() == 1
    }

    /// The run that is kept there.
    ///
    /// # Panics
    /// When the key is another history's.
    #[must_use]
    pub fn at(&self, key: RunKey) -> RecordedRun<'_> {
        let Run { path, record, .. } = self.runs.at(key);
        RecordedRun { key, path, record }
    }

    /// The failure of the run at `path` that its caller has caught and gone past: what history recorded afterwards follows from it.
    ///
    /// It counts until the attempt that caught it fails: the attempt of the caller or of a run above it.
    #[must_use]
    pub fn caught_failure(&self, path: &NodePath) -> Option<&ChildFailure> {
        let mut run = self.runs.at(self.runs.find(path)?);
        let (failure, caught_at) = run.record.caught()?;
        while let Some(parent) = run.parent {
            run = self.runs.at(parent);
            // A note is recorded on the event itself when the failed attempt sent nothing in between.
            if run.record.failed_at() >= caught_at {
                return None;
            }
        }
        Some(failure)
    }

    /// The direct children of `parent` that left events, in the order of their first ones.
    pub fn children(&self, parent: &NodePath) -> impl ExactSizeIterator<Item = RecordedRun<'_>> {
        self.runs.children(parent).map(|key| self.at(key))
    }

    /// What has become of the question with this id. For runners.
    #[must_use]
    pub fn answer_to(&self, id: &str) -> AnswerState<'_> {
        let Some(askers) = self.askers.get(id) else { return AnswerState::Unknown };
        let mut records = askers.iter().map(|asker| self.at(asker.run).record);
        if records.any(|record| record.waits_for(id)) {
            return AnswerState::Waiting;
        }
        let Some(last) = askers.last() else { return AnswerState::Unknown };
        match self.at(last.run).record.answers().get(id) {
            Some(answer) if self.is_final(last) => AnswerState::Final(answer),
            Some(answer) => AnswerState::Replaceable(answer),
            None => AnswerState::Unknown,
        }
    }

    /// Whether a run that took the answer to this run's question has completed: the run itself, or another one since that may
    /// have started from the answer.
    fn is_final(&self, asker: &Asker) -> bool {
        let answered = self.at(asker.run).record.answered();
        let own = self.at(asker.run).path;
        let rule = |run: &Run| self.message_completes.as_ref().is_some_and(|completes| completes(&run.path));
        let gave = |run: &Run| run.record.gave_after(answered, || rule(run));
        // A run that only asked is recorded as completed by its answer alone.
        self.runs.iter().any(|run| match run.path == *own {
            true => gave(run),
            false => {
                (gave(run) || run.record.recorded_complete_after(answered)) && self.may_take(asker, own, run, answered)
            }
        })
    }

    /// Whether `run` may have used the answer that the run at `asked` got at this time: it is above or below that run, or it
    /// is neither in a lane beside it nor in one that had begun before the answer.
    fn may_take(&self, asker: &Asker, asked: &NodePath, run: &Run, answered: u32) -> bool {
        let shared = asked.segments().zip(run.path.segments()).take_while(|(one, other)| one == other).count();
        let depth = run.path.segments().count();
        if shared == depth || shared == asked.segments().count() {
            return true;
        }
        // Dynamic children share the branch of their caller. The one that leads to `run` decides: below it everything is new.
        let mut lane = run;
        for _ in shared + 1..depth {
            let Some(parent) = lane.parent else { break };
            lane = self.runs.at(parent);
        }
        !are_apart(&asker.branch, &run.record.branch) && lane.record.may_have_begun_after(answered)
    }

    /// Whether nothing has been recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Reads one event more. Plans that were made without it are removed. For engines.
    pub fn add(&mut self, event: &Arc<Event>) {
        self.plans.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.now += 1;
        // A user's metadata is not the engine's.
        if event.custom_metadata().is_some() && !event.is_from_user() {
            self.add_notes(event);
        }
        if event.is_from_user() {
            self.add_answers(event);
        } else if event.path().is_root() && event.actions().end_of_agent() == Some(true) {
            self.ended.insert(event.author().into());
        } else if is_usable(event.path()) {
            self.add_run_event(event);
        }
        for path in notes::completed_runs(event).filter(is_usable) {
            self.now += 1;
            let key = self.runs.key_of(&path);
            let dropped = self.runs.at_mut(key).record.complete(self.now);
            if !dropped.is_empty() {
                self.with_owners(key, |run| run.drop_waiting(&dropped));
            }
        }
    }

    /// What other runs have recorded on the event.
    fn add_notes(&mut self, event: &Event) {
        for (path, output) in notes::delegations(event) {
            let key = self.runs.key_of(&path);
            self.runs.at_mut(key).record.complete_delegation(output);
        }
        for (path, failure) in notes::caught_failures(event) {
            let key = self.runs.key_of(&path);
            self.runs.at_mut(key).record.catch(failure, self.now);
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

    fn add_answers(&mut self, event: &Event) {
        for response in event.function_responses() {
            let Some(id) = response.id.as_deref() else { continue };
            let empty = pleach_core::Map::new();
            let answer = unwrap_response(response.response.as_ref().unwrap_or(&empty));
            let Some(askers) = self.askers.get(id) else {
                self.answer_by_branch(event, &answer);
                continue;
            };
            // Several runs may ask under one id: the last one that waits is answered, and then the others.
            let waiting = askers.iter().rev().find(|asker| self.at(asker.run).record.waits_for(id));
            // Until a run that took the first one has completed, a second answer replaces it; then the first one counts (R910).
            let replaceable = |asker: &&Asker| !self.is_final(asker);
            let Some(Asker { run, schema, .. }) = waiting.or_else(|| askers.last().filter(replaceable)) else {
                continue;
            };
            let (run, first) = (*run, waiting.is_some());
            // An answer that does not fit was refused by us before it was stored; one that another writer stored leaves
            // the question open, and a later good one wins (R907).
            let fitting = match schema {
                Some(schema) => check_answer(schema, answer),
                None => Ok(answer),
            };
            let Ok(fitting) = fitting else { continue };
            // Answers of one message come one after the other.
            self.now += 1;
            let now = self.now;
            self.with_owners(run, |run| match first {
                true => run.take_answer(id, &fitting, now),
                false => run.replace_answer(id, &fitting),
            });
        }
    }

    /// An answer to a call that runs on a branch named after a question answers that question.
    fn answer_by_branch(&mut self, event: &Event, answer: &Value) {
        let Some(branch) = event.branch() else { return };
        let ids: Vec<String> = branch.run_ids().map(Into::into).collect();
        for run in self.runs.iter_mut() {
            for id in &ids {
                if run.record.waits_for(id) {
                    self.now += 1;
                    run.record.take_answer(id, answer, self.now);
                }
            }
        }
    }

    fn add_run_event(&mut self, event: &Arc<Event>) {
        let key = self.runs.key_of(event.path());
        // Most events say nothing: they carry an output, a route or state.
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

    /// Notes the questions of an event; returns whether it has any.
    fn add_questions(&mut self, key: RunKey, event: &Event) -> bool {
        let ids = event.interrupt_ids();
        let asks = !ids.is_empty();
        for id in ids {
            let call = event.function_calls().find(|call| call.id.as_deref() == Some(id));
            let asks = call.filter(|call| call.name.as_deref() == Some(pleach_core::REQUEST_INPUT));
            let schema = asks.and_then(|call| call.args.as_ref()?.get("response_schema"));
            let schema = schema.filter(|schema| schema.is_object()).cloned();
            let askers = self.askers.entry(id.to_owned()).or_default();
            askers.retain(|asker| asker.run != key);
            askers.push(Asker { run: key, schema, branch: event.branch().cloned() });
            let (waited, now) = (self.at(key).record.waits_for(id), self.now);
            self.with_owners(key, |run| run.ask(id, waited, now));
        }
        asks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 10 D4: a path of 64,000 segments took 2 GB.
    #[test]
    fn d4_a_path_beyond_any_run_belongs_to_no_run() {
        let event = |path: &str| {
            let mut event = Event::of(1);
            event.set_path(NodePath::from(path));
            Arc::new(event)
        };
        let deep = |segments: usize| vec!["n@1"; segments].join("/");
        for (path, is_kept) in [
            (deep(MOST_SEGMENTS), true),
            (deep(MOST_SEGMENTS + 1), false),
            (deep(64_000), false),
            ("n".repeat(MOST_BYTES), true),
            ("n".repeat(MOST_BYTES + 1), false),
        ] {
            let history = History::of(&[&event(&path)]);
            assert_eq!(!history.is_empty(), is_kept, "{} bytes", path.len());
        }
    }
}
