//! A run takes its place among those of its session, or joins the one that has its invocation.

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
    /// Takes a place among the runs of the session, or joins the one that has the invocation.
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

    /// Claims the session for a run; one that is queued waits until nothing keeps the session busy.
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
                // A detached run has begun between the two.
                Err(RunError::Busy { .. }) => {}
                admission => return admission,
            }
        }
    }
}
