//! [`Detached`]: the handle of a run without a reader.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use pleach_core::{EventId, InvocationId};
use tokio::task::JoinHandle;

use crate::app::inner::RunnerInner;
use crate::run::outcome::RunEnd;
use crate::run::state::RunState;
use crate::{Follow, RunError};

/// The handle of a run that is polled by a task of its own. Awaiting the handle waits for the end of the run; dropping it does not stop
/// the run.
///
/// If the handle is awaited again by reference after a failure, it returns [`RunError::Followed`].
///
/// # Cancel safety
/// Awaiting by reference can be cancelled and repeated.
pub struct Detached {
    parts: Arc<RunnerInner>,
    run: Arc<RunState>,
    /// The task of the run; `None` after it was joined.
    task: Option<JoinHandle<Result<(), RunError>>>,
}

impl Detached {
    pub(crate) fn new(
        parts: Arc<RunnerInner>,
        run: Arc<RunState>,
        end: impl Future<Output = Result<(), RunError>> + Send + 'static,
    ) -> Self {
        Self { parts, run, task: Some(tokio::spawn(end)) }
    }

    /// Waits until the message is stored, and returns the invocation id, which a server can send as its response.
    ///
    /// # Errors
    /// [`RunError::Followed`] if the run failed before that; awaiting the handle returns the error itself.
    /// [`RunError::Cut`] if the run ended before that without a failure, because it was stopped.
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

    /// Aborts the run: its nodes are cancelled and its open calls are answered. Awaiting the handle waits until the answers are stored.
    // R1130
    pub fn abort(&self) {
        self.run.abort();
    }

    /// Stops the run where it is: its nodes are cancelled, and [`Runner::resume`](crate::Runner::resume) can continue it in any
    /// process. Only a Runner with [heartbeats](crate::RunnerBuilder::heartbeat) records the stop.
    pub fn cut(&self) {
        self.run.cut();
    }

    /// Returns `true` if the message of the run is stored.
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
    /// The errors of [`Runner::follow`](crate::Runner::follow), and those of [`invocation_id`](Self::invocation_id).
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
    /// The error that ended the run; [`RunError::Waiting`] with the open questions if it has paused.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the run.
    pub async fn output<T: serde::de::DeserializeOwned>(mut self) -> Result<T, RunError> {
        (&mut self).await?;
        self.run.outcome().output()
    }
}

impl Future for Detached {
    type Output = Result<(), RunError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let Some(task) = &mut self.task else {
            return Poll::Ready(self.run.followed_error().map_or(Ok(()), Err));
        };
        // The task cannot panic, so a failed join means that the runtime was shut down.
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
