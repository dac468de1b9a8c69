//! [`Run`]: the stream of an invocation's events.

use std::fmt;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use futures_util::Stream;
use pleach_core::{Event, Question};

use crate::active::{ActiveRun, Outcome, RunEnd};
use crate::events::events;
use crate::runner::RunnerParts;
use crate::seat::Driver;
use crate::trace::RunSpan;
use crate::{Detached, RunError, RunRequest, Runner};

/// An invocation as a stream of its events. It starts when it is first polled.
///
/// Every complete event is stored before it is handed out, and the node that sent it goes on only when the next one is
/// asked for. Streaming fragments (`is_partial`) are handed out and never stored. After an error the stream
/// ends.
///
/// # Cancel safety
/// Dropping a run cancels everything in it; what it has handed out is stored. [`Run::close`] cancels it too and lets
/// the plugins' `after_run` hooks run; [`Run::detach`] lets it go on without a reader. A run that other callers have joined
/// ([`RunRequest::invocation_id`]) is cancelled when the last of them drops it.
// R1108
#[must_use = "a run starts when it is polled: read its events, ask for its output, or detach it"]
pub struct Run {
    run: Arc<ActiveRun>,
    parts: Arc<RunnerParts>,
    /// This caller's place among the readers of the run.
    reader: u32,
    /// Whether the caller wants to see its message.
    echo: bool,
    over: bool,
}

/// One event of a run, and the question that it asks, if it asks one. Dereferences to the [`Event`].
#[derive(Clone, Debug)]
pub struct RunEvent {
    /// The event, shared with the session.
    pub event: Arc<Event>,
    /// The question that it asks.
    pub request: Option<Box<Question>>,
}

impl RunEvent {
    pub(crate) fn new(event: Arc<Event>) -> Self {
        let request = match event.long_running_tool_ids() {
            Some(_) => event.questions().into_iter().next().map(Box::new),
            None => None,
        };
        Self { event, request }
    }
}

impl Deref for RunEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}

impl Run {
    pub(crate) fn new(parts: Arc<RunnerParts>, request: RunRequest) -> Self {
        let request = request.bounded();
        let (run, echo) = (Arc::new(ActiveRun::new(&request)), request.yield_user_message);
        let stream = Box::pin(events(Arc::clone(&parts), request, Arc::clone(&run)));
        let membership = Membership { parts: Arc::clone(&parts), run: Arc::clone(&run), phase: Phase::New };
        let reader = run.seat.open(Driver { stream, span: RunSpan::default(), membership });
        Self { run, parts, reader, echo, over: false }
    }

    /// The next event; `None` when the run has ended.
    ///
    /// # Errors
    /// Why the run ended without its result; nothing follows.
    ///
    /// # Cancel safety
    /// An event whose `next` was dropped comes with the following call.
    pub async fn next(&mut self) -> Option<Result<RunEvent, RunError>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Runs to the end and reads the output. `T` is the type that the root node gives, or `Value`.
    ///
    /// # Errors
    /// Why the run ended without its result; [`RunError::Waiting`] with the open questions when it waits for answers.
    ///
    /// # Cancel safety
    /// Dropping the future drops the run.
    pub async fn output<T: serde::de::DeserializeOwned>(self) -> Result<T, RunError> {
        let run = Arc::clone(&self.run);
        self.finish().await?;
        run.outcome().unwrap_or(Outcome::Aborted).output()
    }

    /// How the run ended; `None` while it is under way.
    #[must_use]
    pub fn end(&self) -> Option<RunEnd> {
        self.run.end()
    }

    /// Cancels what is still running and lets the plugins' `after_run` hooks run. A run that other callers read, too,
    /// continues: closing only leaves it.
    ///
    /// # Errors
    /// What a hook failed with.
    ///
    /// # Cancel safety
    /// Dropping the future drops the run.
    // R1114
    pub async fn close(self) -> Result<(), RunError> {
        if self.run.seat.is_shared() {
            return Ok(());
        }
        self.run.cut();
        self.finish().await
    }

    /// Lets the run go on in a task of its own, without a reader. Needs a tokio runtime.
    ///
    /// It begins at once, if it has not yet; [`Runner::follow`](crate::Runner::follow) reads its events, any number of
    /// times. Until it ends no other run can begin in its session through this Runner ([`RunError::Busy`]).
    ///
    /// # Panics
    /// Without a tokio runtime.
    #[must_use = "dropping the handle is fine, but errors of the run are only seen through it or a follower"]
    pub fn detach(self) -> Detached {
        let (parts, run) = (Arc::clone(&self.parts), Arc::clone(&self.run));
        run.set_detached();
        let entered = run.seat.enter();
        Detached::new(Runner { parts }, run, async move {
            entered?;
            self.finish().await
        })
    }

    /// Runs to the end.
    async fn finish(mut self) -> Result<(), RunError> {
        while let Some(event) = self.next().await {
            event?;
        }
        Ok(())
    }
}

/// The place of a run among those that are under way, from its first poll to its end.
pub(crate) struct Membership {
    parts: Arc<RunnerParts>,
    pub(crate) run: Arc<ActiveRun>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    New,
    UnderWay,
    Over,
}

impl Membership {
    /// Takes the run in, if it has not begun.
    pub(crate) fn enter(&mut self) -> Result<(), RunError> {
        if self.phase == Phase::New {
            self.phase = Phase::UnderWay;
            if let Err(error) = self.parts.active.enter(&self.run) {
                self.end(Some(&error));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes the run out, because its stream has ended, with an error or without.
    pub(crate) fn end(&mut self, error: Option<&RunError>) {
        self.phase = Phase::Over;
        // First this, then the news: who hears of the end may start another run.
        self.parts.active.leave(&self.run);
        match error {
            Some(error) => self.run.fail(error),
            None => self.run.complete(),
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        if self.phase != Phase::Over {
            self.parts.active.leave(&self.run);
            self.run.finish(RunEnd::Cut);
        }
    }
}

impl Stream for Run {
    type Item = Result<RunEvent, RunError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        while !self.over {
            let item = ready!(self.run.poll_next(self.reader, cx));
            self.over = !matches!(item, Some(Ok(_)));
            match item {
                Some(Ok(shown)) if shown.is_message && !self.echo => {}
                item => return Poll::Ready(item.map(|item| item.map(|shown| RunEvent::new(shown.event)))),
            }
        }
        Poll::Ready(None)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.run.seat.leave(self.reader);
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Run")
    }
}
