//! [`Timers`]: the deadlines of a Runner that are near.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pleach_core::{InvocationId, NodePath, Question, SessionKey};
use pleach_session::InboxItem;
use tokio::sync::Notify;

/// The deadlines of a Runner, and the task that waits for them. The task begins with the first deadline.
#[derive(Default)]
pub(crate) struct Timers {
    pub(crate) shared: Arc<Shared>,
}

/// What a Runner and its task share.
#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Notified when there is a reason to look again.
    pub(crate) changed: Notify,
}

#[derive(Default)]
pub(crate) struct State {
    due: BTreeSet<Due>,
    /// The same by session and invocation, to find those whose questions are closed.
    by_invocation: HashMap<(SessionKey, InvocationId), Vec<Due>>,
    /// The questions that are being answered, or wait for their session.
    firing: HashSet<Due>,
    /// The overdue questions of forks that rest, and when they are looked at again, in seconds since the epoch.
    resting: HashMap<Due, f64>,
    /// Whether a task reads the deadlines of others.
    pub(crate) reads: bool,
    pub(crate) has_task: bool,
    pub(crate) closed: bool,
}

/// A question that is answered at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Due {
    /// In microseconds since the epoch.
    pub(crate) at: u64,
    pub(crate) session: SessionKey,
    pub(crate) invocation: InvocationId,
    pub(crate) question: String,
    /// The run that asks: several may ask with one id.
    pub(crate) path: NodePath,
}

impl Due {
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
    /// Ends the task. Deadlines stay in the inbox.
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

impl State {
    fn add(&mut self, due: Due) {
        if self.due.insert(due.clone()) {
            self.by_invocation.entry(due.of_invocation()).or_default().push(due);
        }
    }

    fn remove(&mut self, due: &Due) {
        self.due.remove(due);
        if let Entry::Occupied(mut known) = self.by_invocation.entry(due.of_invocation()) {
            known.get_mut().retain(|known| known != due);
            if known.get().is_empty() {
                known.remove();
            }
        }
    }
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps deadlines.
    pub(crate) fn keep(&self, deadlines: impl Iterator<Item = Due>) {
        let mut state = self.state();
        if !state.closed {
            let new: Vec<Due> = deadlines.filter(|due| !state.firing.contains(due)).collect();
            new.into_iter().for_each(|due| state.add(due));
        }
    }

    /// Drops the deadlines of an invocation but those of questions with the ids of these: of several runs that ask with one id, one is listed.
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

    /// Keeps the deadlines of these questions that come until then, in seconds since the epoch, and has the task look again if one of them is
    /// the next.
    pub(crate) fn keep_until(&self, now: f64, until: f64, questions: &[InboxItem]) {
        let before = self.next();
        let due = questions.iter().filter_map(|item| Due::of(&item.session, &item.question));
        let mut near: Vec<Due> = due.filter(|due| due.at <= micros(until)).collect();
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

    /// Notes that an overdue question is one of a fork that rests, until `again`, in seconds since the epoch. A run that waits for it here
    /// brings it back before that.
    pub(crate) fn rest(&self, due: &Due, again: f64) {
        self.state().resting.insert(due.clone(), again);
    }

    /// Notes that a deadline is no longer being answered.
    pub(crate) fn fired(&self, due: &Due) {
        self.state().firing.remove(due);
    }

    /// Takes the deadlines that have come by a time.
    pub(crate) fn take_due(&self, now: f64) -> Vec<Due> {
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

    /// Returns how many deadlines are kept.
    pub(crate) fn len(&self) -> usize {
        self.state().due.len()
    }

    /// Returns when the next deadline comes, in seconds since the epoch.
    pub(crate) fn next(&self) -> Option<f64> {
        self.state().due.first().map(|due| Duration::from_micros(due.at).as_secs_f64())
    }
}

fn micros(seconds: f64) -> u64 {
    pleach_core::micros(seconds).try_into().unwrap_or_default()
}
