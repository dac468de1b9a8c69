//! [`Run`]: the stream of an invocation's events.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};

use async_stream::stream;
use futures_util::Stream;
use pleach_context::{Context, InvocationContext, NodeInput};
use pleach_core::{Content, Event, Question};
use pleach_workflow::RootEnd;

use crate::drive::{Drive, Ended};
use crate::invoke::Invocation;
use crate::runner::RunnerParts;
use crate::seal::seals;
use crate::store::Stored;
use crate::{RunError, RunRequest};

/// An invocation as a stream of its events. It starts when it is first polled.
///
/// Every complete event is stored before it is handed out, and the node that sent it goes on only when the next one is
/// asked for (R1108). Streaming fragments (`is_partial`) are handed out and never stored. After an error the stream
/// ends.
///
/// # Cancel safety
/// Dropping a run cancels everything in it; what it has handed out is stored. [`Run::close`] cancels it too and lets
/// the plugins' `after_run` hooks run; [`Run::detach`] lets it go on without a reader.
#[must_use = "a run starts when it is polled: read its events, ask for its output, or detach it"]
pub struct Run {
    stream: Pin<Box<dyn Stream<Item = Result<RunEvent, RunError>> + Send>>,
    shared: Arc<Shared>,
}

/// What the stream and its handle share.
#[derive(Default)]
struct Shared {
    closing: AtomicBool,
    outcome: Mutex<Option<Outcome>>,
}

enum Outcome {
    Done(NodeInput),
    Waiting(Vec<Question>),
    Aborted,
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
    fn new(event: Arc<Event>) -> Self {
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
        let shared = Arc::new(Shared::default());
        Self { stream: Box::pin(events(parts, request, Arc::clone(&shared))), shared }
    }

    /// The next event; `None` when the run has ended.
    ///
    /// # Errors
    /// Why the run ended without its result; nothing follows.
    ///
    /// # Cancel safety
    /// An event whose `next` was dropped comes with the following call.
    pub async fn next(&mut self) -> Option<Result<RunEvent, RunError>> {
        std::future::poll_fn(|cx| self.stream.as_mut().poll_next(cx)).await
    }

    /// Runs to the end and reads the output. `T` is the type that the root node gives, or `Value`.
    ///
    /// # Errors
    /// Why the run ended without its result; [`RunError::Waiting`] with the open questions when it waits for answers.
    pub async fn output<T: serde::de::DeserializeOwned>(mut self) -> Result<T, RunError> {
        while let Some(event) = self.next().await {
            event?;
        }
        match self.shared.take_outcome() {
            Some(Outcome::Done(output)) => output.parse().map_err(|error| match output.is_null() {
                true => RunError::NoOutput,
                false => RunError::Output(error),
            }),
            Some(Outcome::Waiting(questions)) => Err(RunError::Waiting(questions)),
            Some(Outcome::Aborted) | None => Err(RunError::Aborted),
        }
    }

    /// Cancels what is still running and lets the plugins' `after_run` hooks run (R1114).
    ///
    /// # Errors
    /// What a hook failed with.
    pub async fn close(mut self) -> Result<(), RunError> {
        self.shared.closing.store(true, Ordering::Release);
        while let Some(event) = self.next().await {
            event?;
        }
        Ok(())
    }

    /// Lets the run go on in a task of its own, without a reader. Needs a tokio runtime.
    #[must_use = "dropping the handle is fine, but errors of the run are only seen through it"]
    pub fn detach(mut self) -> Detached {
        Detached {
            task: tokio::spawn(async move {
                while let Some(event) = self.next().await {
                    event?;
                }
                Ok(())
            }),
        }
    }
}

impl Stream for Run {
    type Item = Result<RunEvent, RunError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        self.stream.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Run")
    }
}

/// A run that goes on in a task of its own; awaiting it gives its end. Dropping the handle does not stop the run.
#[derive(Debug)]
pub struct Detached {
    task: tokio::task::JoinHandle<Result<(), RunError>>,
}

impl Future for Detached {
    type Output = Result<(), RunError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.task).poll(cx).map(|joined| joined.unwrap_or(Err(RunError::Aborted)))
    }
}

impl Shared {
    fn set(&self, outcome: Outcome) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    }

    fn take_outcome(&self) -> Option<Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }
}

/// Tells the plugins of a failure.
pub(crate) async fn report(ic: &InvocationContext, error: RunError) -> RunError {
    ic.services().plugins.on_run_error(ic, &error.to_node_error()).await;
    error
}

fn events(
    parts: Arc<RunnerParts>,
    request: RunRequest,
    shared: Arc<Shared>,
) -> impl Stream<Item = Result<RunEvent, RunError>> + Send {
    stream! {
        if shared.is_closing() {
            return;
        }
        let Invocation { ic, engine, mut store, input, user_event } = match parts.open(request).await {
            Ok(invocation) => invocation,
            Err(error) => {
                yield Err(error);
                return;
            }
        };
        if let Some(event) = user_event {
            yield Ok(RunEvent::new(event));
        }
        let early = match ic.services().plugins.before_run(&ic).await {
            Ok(early) => early,
            Err(error) => {
                yield Err(report(&ic, RunError::Plugin(error)).await);
                return;
            }
        };
        let root = Context::root(Arc::clone(&ic));
        let ended = if let Some(content) = early {
            let event = early_exit(&ic, content);
            match store.take(&ic, Arc::new(event)).await {
                Ok(stored) => yield Ok(RunEvent::new(stored.shown)),
                Err(error) => {
                    yield Err(report(&ic, error).await);
                    return;
                }
            }
            Some(Ok(RootEnd::Done(NodeInput::Null)))
        } else {
            let mut drive = Drive::new(Box::pin(engine.run_root(&root, &*parts.root, input)));
            let mut end: Option<Ended> = None;
            'run: loop {
                while let Some((ticket, event)) = ic.queue().take() {
                    let stored = drive.drive_while(store.take(&ic, event)).await;
                    let Stored { shown, original } = match stored {
                        Ok(stored) => stored,
                        Err(error) => {
                            drop(drive);
                            yield Err(report(&ic, error).await);
                            return;
                        }
                    };
                    yield Ok(RunEvent::new(shown));
                    if shared.is_closing() {
                        break 'run;
                    }
                    ic.queue().acknowledge(ticket, original);
                }
                if ic.is_aborted() || shared.is_closing() {
                    break;
                }
                if end.is_some() {
                    break;
                }
                drive.step(&ic, || ic.is_aborted() || shared.is_closing()).await;
                end = drive.take_end();
            }
            end
        };
        if shared.is_closing() {
            shared.set(Outcome::Aborted);
        } else if ic.is_aborted() {
            shared.set(Outcome::Aborted);
            for seal in seals(&ic, &parts.root.spec().name) {
                match store.take(&ic, Arc::new(seal)).await {
                    Ok(stored) => yield Ok(RunEvent::new(stored.shown)),
                    Err(error) => {
                        yield Err(report(&ic, error).await);
                        return;
                    }
                }
            }
        } else if let Some(Err(failure)) = ended {
            let error = RunError::Node { error: failure.error, path: failure.path };
            yield Err(report(&ic, error).await);
            return;
        } else if let Some(Ok(end)) = ended {
            shared.set(outcome(&ic, end));
        }
        if let Err(error) = ic.services().plugins.after_run(&ic).await {
            yield Err(report(&ic, RunError::Plugin(error)).await);
        }
    }
}

/// The event of a run that a plugin ended before it began.
fn early_exit(ic: &InvocationContext, content: Content) -> Event {
    let mut event = Event::from_author("model").with_content(content);
    event.set_invocation_id(ic.invocation_id().clone());
    event
}

fn outcome(ic: &InvocationContext, end: RootEnd) -> Outcome {
    match end {
        RootEnd::Done(output) => Outcome::Done(output),
        RootEnd::Waiting(ids) => {
            let own = ic.events().into_iter().filter(|event| event.invocation_id() == ic.invocation_id());
            let mut asked: Vec<Question> = own.flat_map(|event| event.questions()).collect();
            // A question that was asked again stands more than once: the last one counts.
            asked.reverse();
            let newest = |id: &String| asked.iter().find(|question| question.id == *id).cloned();
            Outcome::Waiting(ids.iter().filter_map(newest).collect())
        }
    }
}
