//! A child run with an id of its own runs once: whoever asks again gets the same result.
// R707

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use pleach_context::engine::NodeEnd;
use pleach_core::NodePath;
use tokio::sync::Notify;

/// The runs with ids of their own, by path.
#[derive(Debug, Default)]
pub(crate) struct Once {
    runs: Mutex<HashMap<NodePath, Run>>,
}

#[derive(Debug)]
enum Run {
    Running(Arc<Notify>),
    Ended(NodeEnd),
}

/// What asking for a run gives.
pub(crate) enum Claim<'a> {
    /// Nobody runs it: the caller does, and says what came of it.
    Mine(Guard<'a>),
    /// It has ended.
    Ended(NodeEnd),
}

/// The right to run; dropping it without a result lets the next caller run.
pub(crate) struct Guard<'a> {
    once: &'a Once,
    path: NodePath,
    finished: bool,
}

impl Once {
    fn lock(&self) -> MutexGuard<'_, HashMap<NodePath, Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims a run, waiting while somebody else runs it.
    pub(crate) async fn claim(&self, path: &NodePath) -> Claim<'_> {
        loop {
            let notify = {
                let mut runs = self.lock();
                match runs.get(path) {
                    Some(Run::Ended(end)) => return Claim::Ended(end.clone()),
                    Some(Run::Running(notify)) => Arc::clone(notify),
                    None => {
                        runs.insert(path.clone(), Run::Running(Arc::default()));
                        return Claim::Mine(Guard { once: self, path: path.clone(), finished: false });
                    }
                }
            };
            let notified = notify.notified();
            let running = matches!(self.lock().get(path), Some(Run::Running(current)) if Arc::ptr_eq(current, &notify));
            if running {
                notified.await;
            }
        }
    }
}

impl Guard<'_> {
    /// Records what came of the run.
    pub(crate) fn finish(mut self, end: NodeEnd) {
        self.finished = true;
        let earlier = self.once.lock().insert(self.path.clone(), Run::Ended(end));
        notify(earlier);
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !self.finished {
            let earlier = self.once.lock().remove(&self.path);
            notify(earlier);
        }
    }
}

fn notify(run: Option<Run>) {
    if let Some(Run::Running(waiting)) = run {
        waiting.notify_waiters();
    }
}
