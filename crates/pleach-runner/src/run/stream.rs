//! [`Run`]: the stream of an invocation's events.

use std::collections::HashSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use futures_util::Stream;
use pleach_core::{Event, EventId};
use tokio::task::coop::poll_proceed;

use crate::app::inner::RunnerInner;
use crate::run::driver::Driver;
use crate::run::outcome::RunEnd;
use crate::run::run_event::RunEvent;
use crate::run::state::RunState;
use crate::run::task::RunTask;
use crate::{Detached, RunError, RunRequest};

/// An invocation as a stream of its events. It starts when it is first polled.
///
/// Every complete event is stored before it is yielded, and the node that sent it continues only when the next event is
/// requested. Streaming fragments (`is_partial`) are yielded but never stored. The stream ends after an error.
///
/// # Cancel safety
/// Dropping a run cancels its nodes; all events it has yielded are stored. [`Run::close`] cancels the run and runs the
/// plugins' `after_run` hooks; [`Run::detach`] lets it continue without a reader. A run that other callers have joined
/// ([`RunRequest::invocation_id`]) is cancelled when the last of them drops it.
///
/// # Example
/// ```
/// # use pleach_runner::{RunError, Runner};
/// # async fn example(runner: Runner) -> Result<(), RunError> {
/// let mut run = runner.run("ana", "session-1", "Where is my parcel?");
/// while let Some(event) = run.next().await {
///     let event = event?;
///     println!("{}: {}", event.path(), event.text());
/// }
/// println!("{:?}", run.end());
/// # Ok(())
/// # }
/// ```
// R1108
#[must_use = "a run starts when it is polled: read its events, ask for its output, or detach it"]
pub struct Run {
    run: Arc<RunState>,
    task: Arc<RunTask>,
    parts: Arc<RunnerInner>,
    /// This caller's reader id.
    reader: u32,
    /// Whether to yield the stored event of the message.
    echo: bool,
    over: bool,
    /// The ids of events whose fragments were yielded, but which were not yielded themselves yet.
    fragments_of: HashSet<EventId>,
    /// The text of the last final response.
    reply: String,
}

impl Run {
    pub(crate) fn new(parts: Arc<RunnerInner>, request: RunRequest) -> Self {
        let request = Box::new(request.bounded());
        let run = Arc::new(RunState::new(&request, !parts.services.plugins.is_empty()));
        let echo = request.yield_user_message;
        let driver = Driver::new(Arc::clone(&parts), request, Arc::clone(&run));
        let (task, reader) = RunTask::new(&run, driver);
        Self { run, task, parts, reader, echo, over: false, fragments_of: HashSet::new(), reply: String::new() }
    }

    /// Returns the next event, or `None` if the run has ended.
    ///
    /// # Errors
    /// The error that ended the run. The stream ends after it.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event: the next call returns it.
    pub async fn next(&mut self) -> Option<Result<RunEvent, RunError>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Runs to the end and reads the output. `T` is the output type of the root node, or `Value`. If the root is an agent, `T` is the type
    /// of its output schema; for an agent without one, use [`reply`](Self::reply).
    ///
    /// # Errors
    /// The error that ended the run; [`RunError::Waiting`] with the open questions if it has paused.
    ///
    /// # Cancel safety
    /// Dropping the future drops the run.
    pub async fn output<T: serde::de::DeserializeOwned>(self) -> Result<T, RunError> {
        let run = Arc::clone(&self.run);
        self.finish().await?;
        run.outcome().output()
    }

    /// Returns how the run ended, or `None` while it is active.
    #[must_use]
    pub fn end(&self) -> Option<RunEnd> {
        self.run.end()
    }

    /// Cancels the run and runs the plugins' `after_run` hooks. If the run has other readers, it continues and only this reader leaves.
    ///
    /// # Errors
    /// The error of a hook.
    ///
    /// # Cancel safety
    /// Dropping the future drops the run.
    // R1114
    pub async fn close(self) -> Result<(), RunError> {
        if self.task.is_shared() {
            return Ok(());
        }
        self.run.cut();
        self.finish().await
    }

    /// Moves the run into a task of its own, where it continues without a reader. This needs a tokio runtime.
    ///
    /// The run begins at once, unless it has already begun. [`Runner::follow`](crate::Runner::follow) reads its events, any number of
    /// times. Until the run ends, no other run can begin in its session through this Runner ([`RunError::Busy`]).
    ///
    /// # Panics
    /// If it is called outside of a tokio runtime.
    #[must_use = "dropping the handle is fine, but errors of the run are only seen through it or a follower"]
    pub fn detach(self) -> Detached {
        let (parts, run) = (Arc::clone(&self.parts), Arc::clone(&self.run));
        run.set_detached();
        let entered = self.task.enter();
        Detached::new(parts, Arc::clone(&run), async move {
            entered?;
            let end = self.finish().await;
            log_end(&run, &end);
            end
        })
    }

    /// Asks models to stream their replies: fragments are yielded as partial events before the complete one. This has no effect on a
    /// run that has begun. ADK: `RunConfig(streaming_mode=StreamingMode.SSE)`
    pub fn streaming(self) -> Self {
        self.task.stream();
        self
    }

    /// Runs to the end and returns the text of the last final response, which is the agent's reply to the user.
    ///
    /// The text is empty if this run yields no such response, for example because it waits for an answer. It is also empty for a repeated
    /// request for an invocation that has ended: its events are in the session.
    ///
    /// # Errors
    /// The error that ended the run.
    ///
    /// # Cancel safety
    /// Dropping the future drops the run.
    pub async fn reply(mut self) -> Result<String, RunError> {
        while let Some(event) = self.next().await {
            event?;
        }
        Ok(std::mem::take(&mut self.reply))
    }

    fn show(&mut self, event: Arc<Event>) -> RunEvent {
        // Most runs have no fragments, so they need no hash of an id.
        let has_fragments = !self.fragments_of.is_empty();
        let streamed = has_fragments && !event.is_partial() && self.fragments_of.remove(event.id());
        if event.is_partial() {
            self.fragments_of.insert(event.id().clone());
        } else if event.content().is_some() && !event.is_from_user() && event.is_final_response() {
            let text = event.text();
            if !text.is_empty() {
                self.reply = text;
            }
        }
        RunEvent::new(event).after_fragments(streamed)
    }

    /// Runs to the end.
    async fn finish(mut self) -> Result<(), RunError> {
        while let Some(event) = self.next().await {
            event?;
        }
        Ok(())
    }
}

/// Logs how a run without a reader ended, if it had begun and did not complete or wait.
fn log_end(run: &RunState, end: &Result<(), RunError>) {
    let (Some(session), Some(invocation)) = (run.key(), run.invocation()) else { return };
    match (end, run.end()) {
        // Another process has taken the session.
        (Err(RunError::Session(error)), _) if error.is_stale() => {
            tracing::warn!(%session, %invocation, %error, "a detached run lost its session to another writer");
        }
        (Err(error), _) => {
            tracing::error!(%session, %invocation, code = error.code(), %error, "a detached run has failed");
        }
        (Ok(()), Some(RunEnd::Cut)) => tracing::warn!(%session, %invocation, "a detached run was cut off"),
        _ => {}
    }
}

impl Stream for Run {
    type Item = Result<RunEvent, RunError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        // A model that floods its client always has a next event. The task's budget makes the run pause now and then nevertheless, so that
        // other tasks run and a time-out around `next` is checked.
        let budget = ready!(poll_proceed(cx));
        while !self.over {
            let item = ready!(self.task.poll_next(self.reader, cx));
            budget.made_progress();
            self.over = !matches!(item, Some(Ok(_)));
            match item {
                Some(Ok(shown)) if shown.is_message && !self.echo => {}
                item => return Poll::Ready(item.map(|item| item.map(|shown| self.show(shown.event)))),
            }
        }
        Poll::Ready(None)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.task.leave(self.reader);
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Run")
    }
}
