//! Following a run from outside: what is stored, then what comes.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use async_stream::stream;
use futures_util::Stream;
use pleach_core::{Event, EventId, InvocationId, Session, SessionHead, SessionKey};
use pleach_session::{GetSessionConfig, SessionService, Since};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::active::{ActiveRun, RunEnd};
use crate::runner::{RunnerParts, check_ids};
use crate::{RunError, RunEvent, Runner, SessionRef};

/// How the run that a [`Follow`] reads stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FollowStatus {
    /// No run of the session was under way in this Runner: the stream gives what was stored and ends. A run may have
    /// ended before, or be under way in another process; following again from the last event shows what it has stored.
    NotHere,
    /// A run is under way.
    Running,
    /// The run has ended. The stream may still have events of it.
    Ended(RunEnd),
}

/// The log of a session as a stream: what is stored behind an event, then what a run under way adds, until it ends.
///
/// Every event that is stored comes exactly once and in the order of the log, the user's message and summaries (R1150)
/// among them. In between come the streaming fragments (`is_partial`) of the run, unless the follower was too slow for
/// them. If the run fails, the last item is [`RunError::Followed`].
///
/// The run does not wait for its followers, and keeps a fixed number of events for all of them together. A follower that
/// is farther behind goes on from the store.
///
/// # Cancel safety
/// Dropping it has no effect on the run. `next` can be dropped and called again.
#[must_use = "a follower does nothing unless its events are read"]
pub struct Follow {
    stream: Pin<Box<dyn Stream<Item = Result<RunEvent, RunError>> + Send>>,
    run: Option<Arc<ActiveRun>>,
}

impl Follow {
    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// [`RunError::Followed`] when the run failed; [`RunError::Session`] when the store could not be read; nothing follows.
    ///
    /// # Cancel safety
    /// An event whose `next` was dropped comes with the following call.
    pub async fn next(&mut self) -> Option<Result<RunEvent, RunError>> {
        std::future::poll_fn(|cx| self.stream.as_mut().poll_next(cx)).await
    }

    /// How the run stands that is followed.
    #[must_use]
    pub fn status(&self) -> FollowStatus {
        match self.run.as_ref().map(|run| run.end()) {
            None => FollowStatus::NotHere,
            Some(None) => FollowStatus::Running,
            Some(Some(end)) => FollowStatus::Ended(end),
        }
    }

    /// The invocation that is followed, if a run of the session was under way.
    #[must_use]
    pub fn invocation_id(&self) -> Option<InvocationId> {
        self.run.as_ref()?.invocation()
    }
}

impl Stream for Follow {
    type Item = Result<RunEvent, RunError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        self.stream.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for Follow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow").field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Runner {
    /// Reads a session's log behind an event, or from its beginning, and goes on with the run that is under way in it
    /// until that ends: the way back for a client that has lost its connection.
    ///
    /// `after` is the id of the last complete event that the client has: what a server gives as `id:` of a server-sent
    /// event comes back as `Last-Event-ID`. Fragments are not stored, so their ids are no place in the log.
    ///
    /// Any run of this Runner and its clones can be followed, detached or not; of several in the session the detached
    /// one is, or else the one that began last. [`Detached::follow`](crate::Detached::follow) names one. A detached run
    /// that has not yet made its session is waited for. Where no run is under way, the stream ends with what is stored,
    /// and [`Follow::status`] says so. ADK has no such call.
    ///
    /// # Errors
    /// [`RunError::UnknownEvent`] when the session has no event `after`; [`RunError::SessionNotFound`],
    /// [`RunError::UnknownSession`], [`RunError::AmbiguousSession`], [`RunError::BlankId`]; [`RunError::Session`] when the
    /// storage fails.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect on the run.
    pub async fn follow(&self, session: impl Into<SessionRef>, after: Option<EventId>) -> Result<Follow, RunError> {
        let (parts, session) = (&self.parts, session.into());
        for run in parts.active.about_to_begin(&session) {
            run.begun().await;
        }
        let key = parts.session_key(&session).await?;
        check_ids(&key)?;
        match parts.active.of(&key) {
            Some(run) => parts.follow_run(&run, after).await,
            None => parts.follow_log(&key, None, after).await,
        }
    }
}

impl RunnerParts {
    /// Follows a run that has found its session.
    pub(crate) async fn follow_run(&self, run: &Arc<ActiveRun>, after: Option<EventId>) -> Result<Follow, RunError> {
        let Some(key) = run.key() else { return Err(RunError::Aborted) };
        self.follow_log(&key, Some(Arc::clone(run)), after).await
    }

    async fn follow_log(
        &self,
        key: &SessionKey,
        run: Option<Arc<ActiveRun>>,
        after: Option<EventId>,
    ) -> Result<Follow, RunError> {
        // First listen, then read: what is stored in between comes both ways and is told apart by its time.
        let live = run.as_ref().and_then(|run| run.subscribe());
        let mut session = self.load_all(key).await?;
        let start = match &after {
            None => 0,
            Some(id) => match session.events.iter().position(|event| event.id() == id) {
                Some(place) => place + 1,
                None => return Err(RunError::UnknownEvent { session: key.clone(), event: id.to_string() }),
            },
        };
        let last = session.events.last().cloned();
        session.events.drain(..start);
        let log = Log { sessions: Arc::clone(&self.services.sessions), head: session.head, last };
        let stream = follow(log, session.events, live, run.clone());
        Ok(Follow { stream: Box::pin(stream), run })
    }
}

/// A reader's place in the log.
struct Log {
    sessions: Arc<dyn SessionService>,
    /// Where the store was read last.
    head: SessionHead,
    /// The last event that the reader has.
    last: Option<Arc<Event>>,
}

impl Log {
    /// Whether the reader does not have the event yet. The events of a run, fragments among them, have increasing times
    /// that are later than all the run began with (S48).
    fn is_new(&self, event: &Event) -> bool {
        self.last.as_ref().is_none_or(|last| event.timestamp() > last.timestamp())
    }

    /// Reads what was stored since the last event.
    async fn catch_up(&mut self) -> Result<Vec<Arc<Event>>, RunError> {
        let gone = || RunError::SessionNotFound(self.head.key().clone());
        let session: Session = match self.sessions.events_since(&self.head).await?.ok_or_else(gone)? {
            Since::Events(session) => session,
            Since::Unknown => {
                let all = self.sessions.get_session(self.head.key(), GetSessionConfig::all()).await?;
                all.ok_or_else(gone)?
            }
        };
        let mut events = session.events;
        // By place and not by time: another program's clock may be behind.
        if let Some(last) = &self.last
            && let Some(place) = events.iter().rposition(|event| event.id() == last.id())
        {
            events.drain(..=place);
        }
        self.head = session.head;
        self.last = events.last().cloned().or(self.last.take());
        Ok(events)
    }
}

fn follow(
    mut log: Log,
    stored: Vec<Arc<Event>>,
    mut live: Option<Receiver<RunEvent>>,
    run: Option<Arc<ActiveRun>>,
) -> impl Stream<Item = Result<RunEvent, RunError>> + Send {
    stream! {
        for event in stored {
            yield Ok(RunEvent::new(event));
        }
        // Without it the run has ended before anything could be missed.
        while let Some(events) = &mut live {
            match events.recv().await {
                Ok(event) if !log.is_new(&event) => {}
                Ok(event) => {
                    if !event.is_partial() {
                        log.last = Some(Arc::clone(&event.event));
                    }
                    yield Ok(event);
                }
                Err(RecvError::Closed) => break,
                Err(RecvError::Lagged(_)) => match log.catch_up().await {
                    Ok(missed) => {
                        for event in missed {
                            yield Ok(RunEvent::new(event));
                        }
                    }
                    Err(error) => {
                        yield Err(error);
                        return;
                    }
                },
            }
        }
        if let Some(error) = run.and_then(|run| run.followed_error()) {
            yield Err(error);
        }
    }
}
