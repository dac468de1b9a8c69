//! [`RunRegistry`]: the active runs of a Runner.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use pleach_core::{InvocationId, SessionId, SessionKey};
use pleach_session::prepare::{turn_id, turn_key};
use tokio::sync::broadcast::Receiver;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::run::state::RunState;
use crate::{RunError, RunEvent, SessionRef};

/// The way in which a run is admitted to its session.
pub(crate) enum Admission {
    /// The run begins once these runs have ended.
    Own(Vec<Arc<RunState>>),
    /// The run joins this one, which has the same invocation.
    Join(Arc<RunState>),
}

/// The runs of a Runner and its clones that have begun and not ended.
#[derive(Default)]
pub(crate) struct RunRegistry {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    draining: bool,
    /// The runs by session id, which every request contains, in the order in which they began.
    runs: HashMap<SessionId, Vec<Arc<RunState>>>,
    /// The receivers of runs that begin in a session.
    watchers: HashMap<SessionKey, Vec<UnboundedSender<StartedRun>>>,
}

/// A run that has begun, and the receiver of its events from the beginning.
pub(crate) type StartedRun = (Arc<RunState>, Receiver<RunEvent>);

/// Receives the runs that begin in a session.
pub(crate) type LaterRuns = UnboundedReceiver<StartedRun>;

impl RunRegistry {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a run that is about to begin.
    ///
    /// # Errors
    /// [`RunError::Draining`] if the Runner is being drained.
    pub(crate) fn enter(&self, run: &Arc<RunState>) -> Result<(), RunError> {
        let mut inner = self.inner();
        if inner.draining {
            return Err(RunError::Draining);
        }
        inner.runs.entry(bucket(run.session())).or_default().push(Arc::clone(run));
        Ok(())
    }

    /// Removes a run that has ended.
    pub(crate) fn leave(&self, run: &Arc<RunState>) {
        let mut inner = self.inner();
        let id = bucket(run.session());
        let Some(runs) = inner.runs.get_mut(&id) else { return };
        runs.retain(|other| !Arc::ptr_eq(other, run));
        if runs.is_empty() {
            inner.runs.remove(&id);
        }
    }

    /// Admits a run to a session. Runs of the session that only have a summary left are stopped; the detached ones among them
    /// are returned so that the caller waits for them. A run that requests an active invocation joins the run that has it.
    ///
    /// # Errors
    /// [`RunError::Busy`] if a detached run is active in the session: it cannot be made to wait, so its next append would fail.
    pub(crate) fn admit(&self, run: &Arc<RunState>, key: &SessionKey) -> Result<Admission, RunError> {
        let key = turn_key(key);
        let inner = self.inner();
        let runs = inner.runs.get(&key.session_id).map(Vec::as_slice).unwrap_or_default();
        let others = runs.iter().filter(|other| !Arc::ptr_eq(other, run) && other.is_in(&key));
        let wanted = run.requested_invocation();
        if let Some(leader) = wanted.and_then(|id| others.clone().find(|other| other.can_be_joined(id))) {
            return Ok(Admission::Join(Arc::clone(leader)));
        }
        let (finishing, working): (Vec<_>, Vec<_>) = others.partition(|other| other.is_summing_up());
        if let Some(rival) = working.into_iter().find(|other| other.is_detached()) {
            return Err(RunError::Busy { session: key, invocation: rival.invocation() });
        }
        finishing.iter().for_each(|other| other.cut());
        let ending = finishing.into_iter().filter(|other| other.is_detached()).cloned().collect();
        run.admit(key);
        Ok(Admission::Own(ending))
    }

    /// Notes that a run executes its invocation, and notifies the watchers of the session. A run is never announced if it is refused, loses
    /// the session before it has stored anything, or only returns the recorded result.
    pub(crate) fn announce(&self, run: &Arc<RunState>) {
        if run.executes() {
            return;
        }
        let Some(key) = run.key() else { return };
        // Under the lock, so that a follower either finds the run here or receives it as a watcher.
        let mut inner = self.inner();
        if !run.execute() {
            return;
        }
        let Some(watchers) = inner.watchers.get_mut(&key) else { return };
        watchers.retain(|watcher| run.subscribe().is_some_and(|live| watcher.send((Arc::clone(run), live)).is_ok()));
        if watchers.is_empty() {
            inner.watchers.remove(&key);
        }
    }

    /// Finds the run of this Runner that has an invocation. If there is none, notes on `run` that it has the invocation.
    pub(crate) fn leader_or_claim(
        &self,
        run: &Arc<RunState>,
        key: &SessionKey,
        invocation: &InvocationId,
    ) -> Option<Arc<RunState>> {
        let key = turn_key(key);
        let inner = self.inner();
        let runs = inner.runs.get(&key.session_id).map(Vec::as_slice).unwrap_or_default();
        let mut others = runs.iter().filter(|other| !Arc::ptr_eq(other, run) && other.is_in(&key));
        let leader = others.find(|other| other.runs_answered(invocation)).cloned();
        if leader.is_none() {
            run.claim_answers(invocation);
        }
        leader
    }

    /// Queues a run for a session.
    ///
    /// # Errors
    /// [`RunError::Busy`] if `limit` runs are already queued there.
    pub(crate) fn queue(&self, run: &Arc<RunState>, key: &SessionKey, limit: usize) -> Result<(), RunError> {
        let key = turn_key(key);
        let inner = self.inner();
        let runs = inner.runs.get(&key.session_id).map(Vec::as_slice).unwrap_or_default();
        let others = runs.iter().filter(|other| !Arc::ptr_eq(other, run) && other.is_queued_for(&key));
        if others.count() >= limit {
            let working = runs.iter().find(|other| other.is_in(&key) && other.is_detached());
            return Err(RunError::Busy { invocation: working.and_then(|run| run.invocation()), session: key });
        }
        run.queue(key);
        Ok(())
    }

    /// Returns the run that a queued run must wait for: the last run queued before it, or otherwise a detached run of the session.
    pub(crate) fn run_to_wait_for(&self, run: &Arc<RunState>, key: &SessionKey) -> Option<Arc<RunState>> {
        let key = turn_key(key);
        let inner = self.inner();
        let runs = inner.runs.get(&key.session_id)?;
        let earlier = runs.iter().take_while(|other| !Arc::ptr_eq(other, run));
        let queued = earlier.filter(|other| other.takes_turn_in(&key)).last();
        let working = |other: &&Arc<RunState>| {
            !Arc::ptr_eq(other, run) && other.is_in(&key) && other.is_detached() && !other.is_summing_up()
        };
        queued.or_else(|| runs.iter().find(working)).cloned()
    }

    /// Returns the detached runs that may belong to this session but have not stored their message yet.
    pub(crate) fn about_to_begin(&self, session: &SessionRef) -> Vec<Arc<RunState>> {
        let inner = self.inner();
        let runs = inner.runs.get(&bucket(session)).map(Vec::as_slice).unwrap_or_default();
        let may_be = |run: &&Arc<RunState>| {
            let users = [session.user_id(), run.session().user_id()];
            users.iter().any(Option::is_none) || users[0] == users[1]
        };
        let waits = |run: &&Arc<RunState>| run.is_detached() && run.invocation().is_none();
        runs.iter().filter(waits).filter(may_be).cloned().collect()
    }

    /// Returns the run of a session: the detached one, or the one that began last if none is detached.
    pub(crate) fn run_of_session(&self, key: &SessionKey) -> Option<Arc<RunState>> {
        self.find(key, |_| true)
    }

    /// Returns one of the runs of a session that `selects` accepts: the detached one, or the one that began last if none is detached.
    fn find(&self, key: &SessionKey, selects: impl Fn(&RunState) -> bool) -> Option<Arc<RunState>> {
        let key = turn_key(key);
        let inner = self.inner();
        let mut runs = inner.runs.get(&key.session_id)?.iter().filter(|run| run.is_in(&key) && selects(run));
        let last = runs.clone().next_back();
        runs.find(|run| run.is_detached()).or(last).cloned()
    }

    /// Returns the executing run of a session: the detached one, or the one that began last if none is detached.
    pub(crate) fn executing(&self, key: &SessionKey) -> Option<Arc<RunState>> {
        self.find(key, RunState::executes)
    }

    /// Returns a receiver of the runs that begin in a session from now on.
    pub(crate) fn watch(&self, key: &SessionKey) -> LaterRuns {
        let (sender, later) = unbounded_channel();
        let mut inner = self.inner();
        // Closed watchers are removed only here, and when a run begins.
        inner.watchers.retain(|_, senders| {
            senders.retain(|sender| !sender.is_closed());
            !senders.is_empty()
        });
        inner.watchers.entry(turn_key(key)).or_default().push(sender);
        drop(inner);
        later
    }

    /// Calls `visit` for each run.
    pub(crate) fn each(&self, visit: impl FnMut(&Arc<RunState>)) {
        self.inner().runs.values().flatten().for_each(visit);
    }

    /// Returns `true` if further runs are refused.
    pub(crate) fn is_draining(&self) -> bool {
        self.inner().draining
    }

    /// Refuses further runs; returns the active ones.
    pub(crate) fn drain(&self) -> Vec<Arc<RunState>> {
        let mut inner = self.inner();
        inner.draining = true;
        inner.runs.values().flatten().cloned().collect()
    }
}

fn bucket(session: &SessionRef) -> SessionId {
    turn_id(session.session_id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunRequest;

    fn key() -> SessionKey {
        SessionKey::new("app", "ana", "s1")
    }

    fn run(registry: &RunRegistry, invocation: Option<&str>) -> Arc<RunState> {
        let request = RunRequest::new(("ana", "s1"));
        let request = match invocation {
            Some(id) => request.invocation_id(id),
            None => request,
        };
        let run = Arc::new(RunState::new(&request, false));
        registry.enter(&run).unwrap();
        run
    }

    fn admit(registry: &RunRegistry, run: &Arc<RunState>) -> &'static str {
        match registry.admit(run, &key()) {
            Ok(Admission::Own(ending)) if ending.is_empty() => "own",
            Ok(Admission::Own(_)) => "own after others",
            Ok(Admission::Join(_)) => "join",
            Err(RunError::Busy { .. }) => "busy",
            Err(_) => "error",
        }
    }

    #[test]
    fn runs_with_a_reader_do_not_exclude_each_other() {
        let registry = RunRegistry::default();
        let (first, second) = (run(&registry, None), run(&registry, None));
        assert_eq!([admit(&registry, &first), admit(&registry, &second)], ["own", "own"]);
    }

    #[test]
    fn a_detached_run_keeps_its_session_to_itself_until_only_its_summary_is_left() {
        let registry = RunRegistry::default();
        let (first, second) = (run(&registry, None), run(&registry, None));
        first.set_detached();
        assert_eq!([admit(&registry, &first), admit(&registry, &second)], ["own", "busy"]);
        registry.queue(&second, &key(), 9).unwrap();
        assert!(registry.run_to_wait_for(&second, &key()).is_some_and(|other| Arc::ptr_eq(&other, &first)));
        first.begin(&"i".into());
        first.sum_up();
        assert!(registry.run_to_wait_for(&second, &key()).is_none());
        assert_eq!(admit(&registry, &second), "own after others");
        assert!(first.stop.is_requested());
        registry.leave(&first);
        assert_eq!(admit(&registry, &run(&registry, None)), "own");
    }

    #[test]
    fn a_request_for_an_active_invocation_joins_its_run() {
        let registry = RunRegistry::default();
        let first = run(&registry, Some("i"));
        assert_eq!(admit(&registry, &first), "own");
        assert_eq!(admit(&registry, &run(&registry, Some("i"))), "join");
        assert_eq!(admit(&registry, &run(&registry, Some("j"))), "own");
    }

    #[test]
    fn queued_runs_wait_for_those_before_them() {
        let registry = RunRegistry::default();
        let detached = run(&registry, None);
        detached.set_detached();
        assert_eq!(admit(&registry, &detached), "own");
        let (first, second) = (run(&registry, None), run(&registry, None));
        let before = |run| {
            registry.queue(run, &key(), 2).unwrap();
            registry.run_to_wait_for(run, &key()).unwrap()
        };
        assert!(Arc::ptr_eq(&before(&first), &detached));
        assert!(Arc::ptr_eq(&before(&second), &first));
        assert!(matches!(registry.queue(&run(&registry, None), &key(), 2), Err(RunError::Busy { .. })));
    }

    // S30: the backends that trim ids trim the same characters as Python's `strip`.
    #[test]
    fn session_ids_that_differ_in_blanks_share_their_turns() {
        let registry = RunRegistry::default();
        let first = run(&registry, None);
        first.set_detached();
        assert_eq!(admit(&registry, &first), "own");
        let other = Arc::new(RunState::new(&RunRequest::new(("ana", " s1\u{1f}")), false));
        registry.enter(&other).unwrap();
        let key = SessionKey::new("app", "ana", " s1\u{1f}");
        assert!(matches!(registry.admit(&other, &key), Err(RunError::Busy { .. })));
    }

    #[test]
    fn a_draining_registry_admits_no_run() {
        let registry = RunRegistry::default();
        let first = run(&registry, None);
        assert!(registry.drain().iter().all(|active| Arc::ptr_eq(active, &first)));
        let late = Arc::new(RunState::new(&RunRequest::new(("ana", "s1")), false));
        assert!(matches!(registry.enter(&late), Err(RunError::Draining)));
    }

    /// Otherwise closed watchers would stay until a run begins in their session.
    #[test]
    fn closed_watchers_are_removed_by_the_next_watch() {
        let registry = RunRegistry::default();
        for session in ["s1", "s1", "s2", "s3"] {
            drop(registry.watch(&SessionKey::new("app", "ana", session)));
        }
        let _later = registry.watch(&key());
        let inner = registry.inner();
        assert_eq!((inner.watchers.len(), inner.watchers[&key()].len()), (1, 1));
    }
}
