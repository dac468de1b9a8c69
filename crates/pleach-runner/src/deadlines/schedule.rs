//! [`Timers`]: the near deadlines of a Runner.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pleach_core::{InvocationId, NodePath, Question, SessionKey};
use pleach_session::InboxItem;
use tokio::sync::Notify;

/// The deadlines of a Runner, and the task that waits for them. The task begins with the first deadline.
pub(crate) struct Timers {
    pub(crate) owner: TimerOwner,
    pub(crate) shared: Arc<DeadlineSchedule>,
}

/// Who waits for the deadlines of an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerOwner {
    Runner,
    /// A scheduler, which calls [`Runner::due`](crate::Runner::due).
    Scheduler,
}

/// The part of the timers that a Runner shares with its tasks.
#[derive(Default)]
pub(crate) struct DeadlineSchedule {
    state: Mutex<ScheduleState>,
    /// Notified when the waiting task must read the state again.
    pub(crate) changed: Notify,
}

#[derive(Default)]
pub(crate) struct ScheduleState {
    due: BTreeSet<PendingDeadline>,
    /// The same deadlines by session and invocation. It is used to drop the deadlines of closed questions.
    by_invocation: HashMap<(SessionKey, InvocationId), Vec<PendingDeadline>>,
    /// The deadlines whose questions are being answered, or will be once the session is no longer busy.
    firing: HashSet<PendingDeadline>,
    /// The overdue questions of resting forks. Each has the time when it is checked next, in seconds since the epoch.
    resting: HashMap<PendingDeadline, f64>,
    /// Whether a task reads the deadlines of other processes.
    pub(crate) reads: bool,
    pub(crate) has_task: bool,
    pub(crate) closed: bool,
}

/// A deadline: which question to answer, and when.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PendingDeadline {
    /// The time, in microseconds since the epoch.
    pub(crate) at: u64,
    pub(crate) session: SessionKey,
    pub(crate) invocation: InvocationId,
    pub(crate) question: String,
    /// The path of the run that asks: several runs may ask under one id.
    pub(crate) path: NodePath,
}

impl PendingDeadline {
    pub(crate) fn of(session: &SessionKey, question: &Question) -> Option<Self> {
        Some(Self {
            at: micros(question.deadline?),
            session: session.clone(),
            invocation: question.invocation_id.clone(),
            question: question.id.clone(),
            path: question.node_path.clone(),
        })
    }

    fn of_invocation(&self) -> (SessionKey, InvocationId) {
        (self.session.clone(), self.invocation.clone())
    }
}

impl Timers {
    pub(crate) fn new(owner: TimerOwner) -> Self {
        Self { owner, shared: Arc::default() }
    }

    /// Ends the tasks. The deadlines stay in the inbox.
    pub(crate) fn close(&self) {
        let mut state = self.shared.state();
        state.closed = true;
        state.due.clear();
        state.resting.clear();
        state.by_invocation.clear();
        drop(state);
        self.shared.changed.notify_one();
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        self.close();
    }
}

impl ScheduleState {
    fn add(&mut self, due: PendingDeadline) {
        if self.due.insert(due.clone()) {
            self.by_invocation.entry(due.of_invocation()).or_default().push(due);
        }
    }

    fn remove(&mut self, due: &PendingDeadline) {
        self.due.remove(due);
        if let Entry::Occupied(mut known) = self.by_invocation.entry(due.of_invocation()) {
            known.get_mut().retain(|known| known != due);
            if known.get().is_empty() {
                known.remove();
            }
        }
    }
}

impl DeadlineSchedule {
    pub(crate) fn state(&self) -> MutexGuard<'_, ScheduleState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps deadlines in memory, except those that are being answered.
    pub(crate) fn keep(&self, deadlines: impl Iterator<Item = PendingDeadline>) {
        let mut state = self.state();
        if !state.closed {
            let new: Vec<PendingDeadline> = deadlines.filter(|due| !state.firing.contains(due)).collect();
            new.into_iter().for_each(|due| state.add(due));
        }
    }

    /// Drops the deadlines of an invocation except those of the `open` questions. Questions are compared by id alone,
    /// because `open` lists only one of several runs that ask under the same id.
    pub(crate) fn keep_only(&self, session: &SessionKey, invocation: &InvocationId, open: &[Question]) {
        let mut state = self.state();
        if state.due.is_empty() {
            return;
        }
        let Some(known) = state.by_invocation.remove(&(session.clone(), invocation.clone())) else { return };
        for due in known {
            state.due.remove(&due);
            if open.iter().any(|question| question.id == due.question) {
                state.add(due);
            }
        }
    }

    /// Keeps the deadlines of these questions, if they come before `until`. Wakes the waiting task if the next deadline
    /// is a new one. Times are in seconds since the epoch.
    pub(crate) fn keep_until(&self, now: f64, until: f64, questions: &[InboxItem]) {
        let before = self.next();
        let due = questions.iter().filter_map(|item| PendingDeadline::of(&item.session, &item.question));
        let mut near: Vec<PendingDeadline> = due.filter(|due| due.at <= micros(until)).collect();
        {
            let resting = &mut self.state().resting;
            resting.retain(|_, again| now < *again);
            near.retain(|due| !resting.contains_key(due));
        }
        self.keep(near.into_iter());
        if self.next() != before {
            self.changed.notify_one();
        }
    }

    /// Postpones an overdue question of a resting fork until `again`, in seconds since the epoch. If a run of this
    /// Runner begins to wait for the question, the deadline is checked earlier.
    pub(crate) fn postpone(&self, due: &PendingDeadline, again: f64) {
        self.state().resting.insert(due.clone(), again);
    }

    /// Marks that the question of a deadline is no longer being answered.
    pub(crate) fn fired(&self, due: &PendingDeadline) {
        self.state().firing.remove(due);
    }

    /// Removes and returns the deadlines that have passed at the time `now`.
    pub(crate) fn take_due(&self, now: f64) -> Vec<PendingDeadline> {
        let now = micros(now);
        let mut state = self.state();
        let mut due = Vec::new();
        while let Some(first) = state.due.first().filter(|first| first.at <= now).cloned() {
            state.remove(&first);
            state.firing.insert(first.clone());
            due.push(first);
        }
        due
    }

    /// Returns the number of deadlines in memory.
    pub(crate) fn len(&self) -> usize {
        self.state().due.len()
    }

    /// Returns the time of the next deadline, in seconds since the epoch.
    pub(crate) fn next(&self) -> Option<f64> {
        self.state().due.first().map(|due| Duration::from_micros(due.at).as_secs_f64())
    }
}

fn micros(seconds: f64) -> u64 {
    pleach_core::micros(seconds).try_into().unwrap_or_default()
}
