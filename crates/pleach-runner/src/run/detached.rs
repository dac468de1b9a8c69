//! [`Detached`]: the handle of a run without a reader.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use pleach_core::{EventId, InvocationId};
use tokio::task::JoinHandle;

use crate::app::inner::RunnerParts;
use crate::run::outcome::RunEnd;
use crate::run::state::ActiveRun;
use crate::{Follow, RunError};

/// The handle of a run that a task of its own polls. Awaiting it waits for the end; dropping it does not stop the run.
///
/// Awaiting it again by reference after a failure returns [`RunError::Followed`].
///
/// # Cancel safety
/// Awaiting by reference can be cancelled and repeated.
pub struct Detached {
    parts: Arc<RunnerParts>,
    run: Arc<ActiveRun>,
    /// `None` after the task was joined.
    task: Option<JoinHandle<Result<(), RunError>>>,
}

impl Detached {
    pub(crate) fn new(
        parts: Arc<RunnerParts>,
        run: Arc<ActiveRun>,
        end: impl Future<Output = Result<(), RunError>> + Send + 'static,
    ) -> Self {
        Self { parts, run, task: Some(tokio::spawn(end)) }
    }

    /// Waits until the message is stored, and returns the invocation id, which a server can send as its response.
    ///
    /// # Errors
    /// [`RunError::Followed`] when the run failed before; awaiting the handle returns the error itself.
    /// [`RunError::Aborted`] when the run was stopped before.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn invocation_id(&self) -> Result<InvocationId, RunError> {
        self.run.begun().await;
        match self.run.invocation() {
            Some(id) => Ok(id),
            None => Err(self.run.followed_error().unwrap_or(RunError::Cut { invocation: None })),
        }
    }

    /// Aborts the run: its nodes are cancelled and its open calls are answered. Awaiting the handle waits until that is stored.
    // R1130
    pub fn abort(&self) {
        self.run.abort();
    }

    /// Stops the run where it is: its nodes are cancelled and nothing is recorded, so that
    /// [`Runner::resume`](crate::Runner::resume) can continue it in any process.
    pub fn cut(&self) {
        self.run.cut();
    }

    /// Returns whether the message of the run is stored.
    pub(crate) fn has_begun(&self) -> bool {
        self.run.invocation().is_some()
    }

    /// Returns how the run ended, or `None` while it is active.
    #[must_use]
    pub fn end(&self) -> Option<RunEnd> {
        self.run.end()
    }

    /// Follows this run, even if another one has begun since. See [`Runner::follow`](crate::Runner::follow).
    ///
    /// # Errors
    /// Those of [`Runner::follow`](crate::Runner::follow), and [`RunError::Followed`] when the run failed before its message was stored.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect on the run.
    pub async fn follow(&self, after: Option<EventId>) -> Result<Follow, RunError> {
        self.invocation_id().await?;
        self.parts.follow_run(&self.run.leader(), after).await
    }

    /// Waits for the end and reads the output. `T` is the output type of the root node, or `Value`.
    ///
    /// # Errors
    /// The error that ended the run; [`RunError::Waiting`] with the open questions when it waits for answers.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the run.
    pub async fn output<T: serde::de::DeserializeOwned>(mut self) -> Result<T, RunError> {
        (&mut self).await?;
        self.run.final_outcome().output()
    }
}

impl Future for Detached {
    type Output = Result<(), RunError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let Some(task) = &mut self.task else {
            return Poll::Ready(self.run.followed_error().map_or(Ok(()), Err));
        };
        // The task cannot panic, so what fails here is a runtime that was shut down.
        let joined = ready!(Pin::new(task).poll(cx));
        let joined = joined.unwrap_or_else(|_| Err(RunError::Cut { invocation: self.run.invocation() }));
        self.task = None;
        Poll::Ready(joined)
    }
}

impl fmt::Debug for Detached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detached")
            .field("session", self.run.session())
            .field("invocation", &self.run.invocation())
            .field("end", &self.run.end())
            .finish_non_exhaustive()
    }
}
