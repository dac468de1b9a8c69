//! Admits a run to its session, or joins it to the active run of the same invocation.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::select;
use pleach_core::SessionKey;

use crate::active::ActiveRun;
use crate::join::{Share, differs};
use crate::parts::RunnerParts;
use crate::registry::Admission;
use crate::{RunError, RunRequest};

impl RunnerParts {
    /// Admits a run to the session, or joins it to the run that has the requested invocation.
    pub(crate) async fn enter_session(
        &self,
        request: &RunRequest,
        run: &Arc<ActiveRun>,
        key: &SessionKey,
    ) -> Result<Option<Share>, RunError> {
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
            if let (true, Some(invocation)) = (differs(&leader, run), run.requested_invocation()) {
                return Err(RunError::OtherMessage { session: key.clone(), invocation: invocation.clone() });
            }
            if let Some(share) = Share::of(Arc::clone(&leader)) {
                run.set_leader(&leader);
                self.active.leave(run);
                return Ok(Some(share));
            }
            leader.ended().await;
        }
    }

    /// Admits a run to the session. A queued run waits until the session is not busy.
    ///
    /// # Errors
    /// [`RunError::Busy`], and [`RunError::Aborted`] when the run is stopped while it waits.
    async fn admit(&self, request: &RunRequest, run: &Arc<ActiveRun>, key: &SessionKey) -> Result<Admission, RunError> {
        if request.answer_checks.as_ref().is_none_or(|answer_checks| !answer_checks.options.queue) {
            return self.active.admit(run, key);
        }
        loop {
            while let Some(other) = self.active.before(run, key) {
                select(pin!(other.ended()), pin!(request.abort.aborted())).await;
                if request.abort.is_aborted() || run.is_closing() {
                    return Err(RunError::Aborted);
                }
            }
            match self.active.admit(run, key) {
                // A detached run has begun in between.
                Err(RunError::Busy { .. }) => {}
                admission => return admission,
            }
        }
    }
}
