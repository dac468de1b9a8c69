//! Admits a run to its session, or makes it a reader of the active run of the same invocation.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::select;
use pleach_core::{InvocationId, SessionKey};

use crate::app::inner::RunnerInner;
use crate::run::join::{Difference, JoinedReader};
use crate::run::registry::Admission;
use crate::run::state::RunState;
use crate::{RunError, RunRequest};

/// The run to join has ended in the meantime.
pub(crate) struct LeaderEnded;

impl RunnerInner {
    /// Admits a run to the session and returns `None`, or makes it a reader of the active run of the requested
    /// invocation.
    pub(crate) async fn admit_or_join(
        &self,
        request: &RunRequest,
        run: &Arc<RunState>,
        key: &SessionKey,
    ) -> Result<Option<JoinedReader>, RunError> {
        loop {
            let leader = match self.admit(request, run, key).await? {
                Admission::Own(ending) => {
                    for ending in ending {
                        ending.ended().await;
                    }
                    return Ok(None);
                }
                Admission::Join(leader) => leader,
            };
            if let (Some(difference), Some(invocation)) =
                (Difference::between(&leader, run), run.requested_invocation())
            {
                return Err(difference.error(key.clone(), invocation.clone()));
            }
            if let Some(share) = self.share(&leader, run).await {
                return Ok(Some(share));
            }
        }
    }

    /// Makes `run` a reader of another run. If the other run is just ending, waits for its end and returns `None`.
    async fn share(&self, leader: &Arc<RunState>, run: &Arc<RunState>) -> Option<JoinedReader> {
        let share = JoinedReader::of(Arc::clone(leader));
        match share {
            Some(_) => {
                run.join(leader);
                self.active.leave(run);
            }
            None => leader.ended().await,
        }
        share
    }

    /// Waits until the detached run that keeps the session busy has stored its message; returns `true` if it is still active.
    pub(crate) async fn wait_for_rival_to_begin(&self, key: &SessionKey) -> bool {
        let Some(rival) = self.active.run_of_session(key).filter(|rival| rival.is_detached()) else { return false };
        rival.begun().await;
        !rival.has_ended()
    }

    /// Joins the active run of the invocation, if all answers of the request are stored already. Returns `Ok(None)` if
    /// there is no such run, so that this one must continue the invocation.
    ///
    /// # Errors
    /// The run to join has just ended, so the stored session has changed.
    pub(crate) async fn join_answered(
        &self,
        run: &Arc<RunState>,
        key: &SessionKey,
        invocation: &InvocationId,
    ) -> Result<Option<JoinedReader>, LeaderEnded> {
        let Some(leader) = self.active.leader_or_claim(run, key, invocation) else { return Ok(None) };
        self.share(&leader, run).await.map(Some).ok_or(LeaderEnded)
    }

    /// Admits a run to the session. A queued run waits until the session is not busy.
    ///
    /// # Errors
    /// [`RunError::Busy`] if a detached run keeps the session busy, or if the queue is full; [`RunError::Aborted`],
    /// [`RunError::Cut`] or [`RunError::Draining`] if the run is stopped while it waits.
    async fn admit(&self, request: &RunRequest, run: &Arc<RunState>, key: &SessionKey) -> Result<Admission, RunError> {
        if !request.queue {
            return self.active.admit(run, key);
        }
        self.active.queue(run, key, self.max_queued_runs)?;
        loop {
            while let Some(other) = self.active.run_to_wait_for(run, key) {
                select(pin!(other.ended()), pin!(request.abort.aborted())).await;
                if run.stop.is_requested() {
                    return Err(RunError::Cut { invocation: None });
                }
                if request.abort.is_aborted() {
                    return Err(RunError::Aborted);
                }
            }
            if self.active.is_draining() {
                return Err(RunError::Draining);
            }
            match self.active.admit(run, key) {
                // A detached run has begun in the meantime.
                Err(RunError::Busy { .. }) => {}
                admission => return admission,
            }
        }
    }
}
