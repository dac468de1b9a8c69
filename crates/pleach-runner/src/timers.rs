//! [`Timers`]: the deadlines of a Runner that are near.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pleach_core::{InvocationId, Question, SessionKey};
use tokio::sync::Notify;

/// How far ahead deadlines are kept in memory.
const HORIZON: Duration = Duration::from_secs(600);

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
    /// Whether the inbox has, or may have, deadlines beyond those in memory.
    pub(crate) scans: bool,
    /// Whether the inbox is read as long as the Runner lives.
    pub(crate) started: bool,
    pub(crate) has_task: bool,
    pub(crate) closed: bool,
}

/// A question that is answered at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    /// In microseconds since the epoch.
    pub(crate) at: u64,
    pub(crate) session: SessionKey,
    pub(crate) invocation: InvocationId,
    pub(crate) question: String,
}

impl Due {
    pub(crate) fn of(session: &SessionKey, question: &Question) -> Option<Self> {
        Some(Self {
            at: micros(question.deadline?),
            session: session.clone(),
            invocation: question.invocation_id.clone(),
            question: question.id.clone(),
        })
    }
}

impl Timers {
    /// Ends the task. Deadlines stay in the inbox.
    pub(crate) fn close(&self) {
        let mut state = self.shared.state();
        state.closed = true;
        state.due.clear();
        drop(state);
        self.shared.changed.notify_one();
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the deadlines that are near. Returns whether there are others, which are read from the inbox later.
    pub(crate) fn keep(&self, now: f64, deadlines: impl Iterator<Item = Due>) -> bool {
        let horizon = micros(now + HORIZON.as_secs_f64());
        let mut state = self.state();
        let mut has_later = false;
        for due in deadlines {
            match due.at <= horizon && !state.closed {
                true => drop(state.due.insert(due)),
                false => has_later = true,
            }
        }
        has_later
    }

    /// Takes the deadlines that have come by a time.
    pub(crate) fn take_due(&self, now: f64) -> Vec<Due> {
        let now = micros(now);
        let mut state = self.state();
        let mut due = Vec::new();
        while let Some(first) = state.due.first().filter(|first| first.at <= now).cloned() {
            state.due.remove(&first);
            due.push(first);
        }
        due
    }

    /// Returns when the next deadline comes, in seconds since the epoch.
    pub(crate) fn next(&self) -> Option<f64> {
        self.state().due.first().map(|due| Duration::from_micros(due.at).as_secs_f64())
    }
}

fn micros(seconds: f64) -> u64 {
    pleach_core::micros(seconds).try_into().unwrap_or_default()
}
