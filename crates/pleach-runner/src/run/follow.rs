//! [`Follow`]: reads a session's log and the events of its active run.

use std::collections::VecDeque;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};

use async_stream::stream;
use foldhash::HashSet;
use futures_util::Stream;
use futures_util::future::{Either, select};
use pleach_core::{Event, EventId, InvocationId, Session, SessionHead, SessionKey};
use pleach_session::{GetSessionConfig, SessionService, Since};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::app::inner::{RunnerInner, check_ids};
use crate::run::outcome::RunEnd;
use crate::run::registry::LaterRuns;
use crate::run::state::RunState;
use crate::{FollowOptions, RunError, RunEvent, SessionRef};

/// The status of the run that a [`Follow`] reads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FollowStatus {
    /// No run of the session was active in this Runner: the stream yields the stored events and ends. A run may have ended
    /// before or be active in another process; follow again from the last event to see its newer events.
    NotHere,
    /// A run is active.
    Running,
    /// The run has ended. The stream may still yield events of it.
    Ended(RunEnd),
}

/// The log of a session as a stream: the events stored after a given one, then those of the active run until it ends.
///
/// The stream yields every stored event exactly once and in the order of the log, including the user's message and
/// summaries; [`FollowOptions`] selects the events. The run's streaming fragments (`is_partial`) are yielded in between, unless
/// the follower is too slow for them. If the run fails, the last item is [`RunError::Followed`].
///
/// The run does not wait for its followers and buffers a fixed number of events for all of them. A follower that falls
/// further behind reads the missing events from the store.
///
/// # Cancel safety
/// Dropping the stream has no effect on the run. A dropped `next` can be called again.
// R1150
#[must_use = "a follower does nothing unless its events are read"]
pub struct Follow {
    stream: Pin<Box<dyn Stream<Item = Result<RunEvent, RunError>> + Send>>,
    /// The followed run; replaced by a later one after a pause.
    run: Arc<Mutex<Option<Arc<RunState>>>>,
}

impl Follow {
    fn run(&self) -> Option<Arc<RunState>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the next event, or `None` at the end.
    ///
    /// # Errors
    /// [`RunError::Followed`] if the run failed; [`RunError::Session`] if the store could not be read. The stream ends after an
    /// error.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event: the next call returns it.
    pub async fn next(&mut self) -> Option<Result<RunEvent, RunError>> {
        std::future::poll_fn(|cx| self.stream.as_mut().poll_next(cx)).await
    }

    /// Returns the status of the followed run.
    #[must_use]
    pub fn status(&self) -> FollowStatus {
        match self.run().map(|run| run.end()) {
            None => FollowStatus::NotHere,
            Some(None) => FollowStatus::Running,
            Some(Some(end)) => FollowStatus::Ended(end),
        }
    }

    /// Returns the followed invocation, if a run of the session was active.
    #[must_use]
    pub fn invocation_id(&self) -> Option<InvocationId> {
        self.run()?.invocation()
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

impl RunnerInner {
    /// Follows the log of a session and its active run.
    pub(crate) async fn follow_session(
        self: &Arc<Self>,
        session: &SessionRef,
        options: FollowOptions,
    ) -> Result<Follow, RunError> {
        for run in self.active.about_to_begin(session) {
            run.begun().await;
        }
        let key = self.session_key(session).await?;
        check_ids(&key)?;
        // Watched before the active run is looked up, so that no run is missed.
        let later = options.across_pauses.then(|| self.active.watch(&key));
        // A run that is about to begin is followed as well, and left if it is refused.
        let run = self.active.executing(&key).or_else(|| self.active.run_of_session(&key));
        self.follow_log(&key, run, later, true, options).await
    }

    /// Follows a run whose session is known.
    pub(crate) async fn follow_run(
        self: &Arc<Self>,
        run: &Arc<RunState>,
        after: Option<EventId>,
    ) -> Result<Follow, RunError> {
        let Some(key) = run.key() else { return Err(RunError::Cut { invocation: run.invocation() }) };
        self.follow_log(&key, Some(Arc::clone(run)), None, false, FollowOptions::new().after(after)).await
    }

    async fn follow_log(
        self: &Arc<Self>,
        key: &SessionKey,
        run: Option<Arc<RunState>>,
        later: Option<LaterRuns>,
        of_session: bool,
        options: FollowOptions,
    ) -> Result<Follow, RunError> {
        // Subscribes before it reads: an event stored in between arrives twice and is recognised by its id.
        let feed = run.as_ref().and_then(|run| run.subscribe());
        let mut session = self.load_all(key).await?;
        let start = match &options.after {
            None => 0,
            Some(id) => match session.events.iter().position(|event| event.id() == id) {
                Some(place) => place + 1,
                None => return Err(RunError::UnknownEvent { session: key.clone(), event: id.to_string() }),
            },
        };
        let mut known: HashSet<EventId> = session.events.iter().map(|event| event.id().clone()).collect();
        match self.appended_after(key, options.after.as_ref()).await? {
            Some(later) => {
                known.extend(later.events.iter().map(|event| event.id().clone()));
                session = later;
            }
            None => drop(session.events.drain(..start)),
        }
        let log = Log { sessions: Arc::clone(&self.services.sessions), head: session.head, known };
        let followed = Arc::new(Mutex::new(run));
        let source =
            FollowSource { parts: Arc::clone(self), log, run: Arc::clone(&followed), later, of_session, options };
        Ok(Follow { stream: Box::pin(follow(source, session.events, feed)), run: followed })
    }

    /// Returns the session with only the events appended after an event, or `None` if the loaded session is in the order of appends.
    async fn appended_after(&self, key: &SessionKey, after: Option<&EventId>) -> Result<Option<Session>, RunError> {
        let sessions = &self.services.sessions;
        let Some(after) = after else { return Ok(None) };
        let Some(head) = sessions.head_behind(key, after).await? else { return Ok(None) };
        Ok(match sessions.events_since(&head).await? {
            Some(Since::Events(later)) => Some(later),
            Some(Since::Unknown) | None => None,
        })
    }
}

/// A reader's position in the log.
///
/// Compares ids and not times, because a node, another program or another clock may set any time on an event.
struct Log {
    sessions: Arc<dyn SessionService>,
    /// The head of the last read of the store.
    head: SessionHead,
    /// The ids of the events that the reader has received or skipped.
    known: HashSet<EventId>,
}

impl Log {
    /// Marks an event as received; returns `true` if it is new.
    fn take(&mut self, event: &Event) -> bool {
        self.known.insert(event.id().clone())
    }

    /// Reads the events stored since the last read.
    async fn catch_up(&mut self) -> Result<Vec<Arc<Event>>, RunError> {
        let gone = || RunError::SessionNotFound(self.head.key().clone());
        let session: Session = match self.sessions.events_since(&self.head).await?.ok_or_else(gone)? {
            Since::Events(session) => session,
            Since::Unknown => {
                let all = self.sessions.get_session(self.head.key(), GetSessionConfig::all()).await?;
                all.ok_or_else(gone)?
            }
        };
        self.head = session.head;
        Ok(session.events.into_iter().filter(|event| self.known.insert(event.id().clone())).collect())
    }
}

/// The sources of a follower's events.
struct FollowSource {
    parts: Arc<RunnerInner>,
    log: Log,
    run: Arc<Mutex<Option<Arc<RunState>>>>,
    /// Receives the runs that begin later; only for a follower that continues across pauses.
    later: Option<LaterRuns>,
    /// Whether the follower follows the session, and not one run of it.
    of_session: bool,
    options: FollowOptions,
}

impl FollowSource {
    fn run(&self) -> Option<Arc<RunState>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the events that have arrived by now: those that the channel dropped, read from the store, and then those in the channel.
    async fn arrived(
        &mut self,
        feed: &mut Receiver<RunEvent>,
        lagged: bool,
    ) -> Result<(Vec<Arc<Event>>, VecDeque<RunEvent>), RunError> {
        let mut missed = if lagged { self.log.catch_up().await? } else { Vec::new() };
        loop {
            match self.drain(feed) {
                Some(come) => return Ok((missed, come)),
                None => missed.extend(self.log.catch_up().await?),
            }
        }
    }

    /// Returns the received events after the last one that the log contains, or `None` if the channel dropped some.
    fn drain(&mut self, feed: &mut Receiver<RunEvent>) -> Option<VecDeque<RunEvent>> {
        let mut come = VecDeque::new();
        loop {
            match feed.try_recv() {
                // Fragments before an event of the log are outdated.
                Ok(event) if !event.is_partial() && self.log.known.contains(event.id()) => come.clear(),
                Ok(event) => come.push_back(event),
                Err(TryRecvError::Lagged(_)) => return None,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return Some(come),
            }
        }
    }

    /// Leaves a run of the session that has ended without running any node: its error concerns only its caller.
    fn leave_refused(&self) {
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        run.take_if(|run| self.of_session && !run.executes());
    }

    /// Returns `true` if the follower continues after the end of the run.
    fn continues(&self) -> bool {
        let end = self.run().and_then(|run| run.end());
        // After `Elsewhere` another process runs the invocation.
        self.options.across_pauses && matches!(end, None | Some(RunEnd::Waiting | RunEnd::Elsewhere))
    }

    /// Waits until a run of this Runner begins in the session, or until it is time to read the events of other processes.
    async fn pause(&mut self) -> Option<Receiver<RunEvent>> {
        let sleep = self.parts.services.clock.sleep(self.options.poll_interval);
        let later = self.later.as_mut()?;
        let (run, feed) = match select(pin!(later.recv()), sleep).await {
            Either::Left((begun, _)) => begun?,
            Either::Right(_) => return None,
        };
        let mut known = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_some_and(|known| Arc::ptr_eq(known, &run)) {
            return None;
        }
        *known = Some(run);
        Some(feed)
    }
}

fn follow(
    mut source: FollowSource,
    stored: Vec<Arc<Event>>,
    mut feed: Option<Receiver<RunEvent>>,
) -> impl Stream<Item = Result<RunEvent, RunError>> + Send {
    stream! {
        let mut stored = stored;
        loop {
            for event in std::mem::take(&mut stored) {
                if source.options.shows(&event) {
                    yield Ok(RunEvent::new(event));
                }
            }
            let mut lagged = false;
            // Without a channel the run has ended, and the store has all its events.
            'feed: while let Some(events) = &mut feed {
                let (missed, mut come) = match source.arrived(events, lagged).await {
                    Ok(arrived) => arrived,
                    Err(error) => {
                        yield Err(error);
                        return;
                    }
                };
                for event in missed {
                    if source.options.shows(&event) {
                        yield Ok(RunEvent::new(event));
                    }
                }
                loop {
                    let event = match come.pop_front() {
                        Some(event) => Ok(event),
                        None => events.recv().await,
                    };
                    match event {
                        Ok(event) => {
                            if (event.is_partial() || source.log.take(&event)) && source.options.shows(&event) {
                                yield Ok(event);
                            }
                        }
                        Err(RecvError::Closed) => break 'feed,
                        Err(RecvError::Lagged(_)) => break,
                    }
                }
                lagged = true;
            }
            source.leave_refused();
            if let Some(error) = source.run().and_then(|run| run.followed_error()) {
                yield Err(error);
                return;
            }
            if !source.continues() {
                return;
            }
            feed = source.pause().await;
            stored = match source.log.catch_up().await {
                Ok(missed) => missed,
                Err(error) => {
                    yield Err(error);
                    return;
                }
            };
        }
    }
}
