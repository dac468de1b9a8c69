//! [`RunState`]: the part of a run that its followers, joined callers and stoppers share.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use futures_util::pending;
use pleach_context::AbortSignal;
use pleach_core::{Content, Event, InvocationId, Map, SessionKey, StateRights};
use tokio::sync::oneshot::Receiver;
use tokio::sync::{Notify, broadcast};

use crate::request::message::as_user;
use crate::run::outcome::{Outcome, RunEnd};
use crate::run::stage::Stage;
use crate::run::stop::StopSignal;
use crate::run::task::{BACKLOG, RunTask, Yielded};
use crate::signals::incoming::{Incoming, Offered};
use crate::signals::outgoing::OutgoingSignal;
use crate::{RunError, RunEvent, RunRequest, SessionRef};

/// The part of a run that its followers, joined callers and stoppers share. It owns nothing that is polled: the future of the run holds
/// this state, and [`RunTask`] holds the future.
pub(crate) struct RunState {
    request: RequestFacts,
    pub(crate) stop: StopSignal,
    /// Whether a follower has subscribed; runs without one skip a lock per event.
    has_followers: AtomicBool,
    /// The time of the run's last change of the session, in microseconds since the epoch.
    last_change: AtomicI64,
    /// The signals that the run stores while it works.
    pub(crate) incoming: Incoming,
    /// The task that polls the run, for callers that join.
    task: OnceLock<Weak<RunTask>>,
    inner: Mutex<Inner>,
    changed: Notify,
}

/// The parts of the request that others read. They never change.
struct RequestFacts {
    session: SessionRef,
    /// The invocation that the caller names, unless the message is an answer. Callers join a run by this id.
    invocation: Option<InvocationId>,
    state_delta: Map,
    state_rights: StateRights,
    abort: AbortSignal,
    /// Whether the run waits for its turn if its session is busy.
    waits_for_turn: bool,
}

struct Inner {
    stage: Stage,
    /// How the run ended; `None` while it is active.
    result: Option<Result<Outcome, Failed>>,
    is_detached: bool,
    /// The request that started the invocation, if known.
    first: Option<First>,
    /// The event that the run yields in this poll; taken when the poll ends.
    yielded: Option<Yielded>,
    /// The channel to followers; `None` until a follower subscribes, because most runs are never followed.
    feed: Option<broadcast::Sender<RunEvent>>,
}

/// The error of a run, for those who did not call it.
struct Failed {
    code: String,
    message: String,
}

/// The request that started an invocation.
enum First {
    /// This run's own request, with the message as sent.
    Sent(Content),
    /// A stored request.
    Stored {
        event: Arc<Event>,
        /// Whether the message is as sent: no plugin can have replaced it.
        as_sent: bool,
    },
}

/// The content of the request that started an invocation.
pub(crate) struct FirstRequest {
    /// The message; `None` if a plugin may have replaced it.
    pub(crate) message: Option<Content>,
    pub(crate) state_delta: Map,
}

impl RunState {
    /// Returns the state of a new run. `has_plugins` is true if plugins may replace the message before it is stored.
    pub(crate) fn new(request: &RunRequest, has_plugins: bool) -> Self {
        let answers = request.answers();
        // If no plugin can replace the message and no caller can join before it is stored, the stored message can be compared instead.
        let is_compared = !answers && (has_plugins || request.invocation_id.is_some());
        let message = request.message.as_ref().filter(|_| is_compared);
        let first = message.map(|message| First::Sent(as_user(message.clone())));
        let request = RequestFacts {
            session: request.session.clone(),
            invocation: request.invocation_id.clone().filter(|_| !answers),
            state_delta: request.state_delta.clone(),
            state_rights: request.state_rights,
            abort: request.abort.clone(),
            waits_for_turn: request.queue,
        };
        let inner = Inner {
            stage: Stage::Opening { queued_for: None },
            result: None,
            is_detached: false,
            first,
            yielded: None,
            feed: None,
        };
        Self {
            request,
            stop: StopSignal::default(),
            has_followers: AtomicBool::new(false),
            last_change: AtomicI64::new(i64::MIN),
            incoming: Incoming::default(),
            task: OnceLock::new(),
            inner: Mutex::new(inner),
            changed: Notify::new(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Every change is a single assignment, so a panic elsewhere leaves nothing half-changed.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The request of the run.
impl RunState {
    /// Returns the session as the caller named it.
    pub(crate) fn session(&self) -> &SessionRef {
        &self.request.session
    }

    /// Returns the invocation under which the caller can join another run.
    pub(crate) fn requested_invocation(&self) -> Option<&InvocationId> {
        self.request.invocation.as_ref()
    }

    /// Returns the changes of state that the caller requests.
    pub(crate) fn state_delta(&self) -> &Map {
        &self.request.state_delta
    }

    /// Returns which keys the caller may change.
    pub(crate) fn state_rights(&self) -> StateRights {
        self.request.state_rights
    }

    pub(crate) fn abort_signal(&self) -> &AbortSignal {
        &self.request.abort
    }

    /// Aborts the run: it stops and answers its open calls.
    // R1130
    pub(crate) fn abort(&self) {
        self.request.abort.abort();
    }

    /// Returns the message of a request that may join another run.
    pub(crate) fn sent_message(&self) -> Option<Content> {
        match self.inner().first.as_ref()? {
            First::Sent(message) => Some(message.clone()),
            First::Stored { .. } => None,
        }
    }

    /// Returns the content of the request that started the invocation, if it is known.
    pub(crate) fn first_request(&self) -> Option<FirstRequest> {
        Some(match self.inner().first.as_ref()? {
            First::Sent(message) => {
                FirstRequest { message: Some(message.clone()), state_delta: self.state_delta().clone() }
            }
            First::Stored { event, as_sent } => FirstRequest {
                message: event.content().filter(|_| *as_sent).cloned(),
                state_delta: event.actions().state_delta().clone(),
            },
        })
    }

    /// Sets the event of the message that started the invocation. `as_sent` is true if no plugin can have replaced the message.
    pub(crate) fn set_first(&self, event: &Arc<Event>, as_sent: bool) {
        self.inner().first = Some(First::Stored { event: Arc::clone(event), as_sent });
    }
}

/// The stages of the run.
impl RunState {
    /// Returns the key of the session, once the run is admitted to it.
    pub(crate) fn key(&self) -> Option<SessionKey> {
        self.inner().stage.session().cloned()
    }

    /// Returns `true` if the run is admitted to the session.
    pub(crate) fn is_in(&self, key: &SessionKey) -> bool {
        self.inner().stage.session() == Some(key)
    }

    pub(crate) fn queue(&self, key: SessionKey) {
        self.inner().stage.queue(key);
    }

    pub(crate) fn admit(&self, key: SessionKey) {
        self.inner().stage.admit(key);
    }

    /// Returns `true` if the run waits for its turn in a session.
    pub(crate) fn is_queued(&self) -> bool {
        matches!(&self.inner().stage, Stage::Opening { queued_for: Some(_) })
    }

    /// Returns `true` if the run waits for its turn in this session.
    pub(crate) fn is_queued_for(&self, key: &SessionKey) -> bool {
        matches!(&self.inner().stage, Stage::Opening { queued_for: Some(session) } if session == key)
    }

    /// Returns `true` if the run has or had to wait for its turn in this session, so that later ones wait for it.
    pub(crate) fn takes_turn_in(&self, key: &SessionKey) -> bool {
        self.is_queued_for(key) || (self.request.waits_for_turn && self.is_in(key))
    }

    /// Returns the invocation, once its message is stored.
    pub(crate) fn invocation(&self) -> Option<InvocationId> {
        self.inner().stage.invocation().cloned()
    }

    pub(crate) fn begin(&self, invocation: &InvocationId) {
        self.inner().stage.begin(invocation);
        self.changed.notify_waiters();
    }

    /// Returns `true` if the run executes its invocation. It is false if the run was refused or only returns the recorded result.
    pub(crate) fn executes(&self) -> bool {
        self.inner().stage.executes()
    }

    /// Notes that the run executes its invocation; returns `true` if that is new.
    pub(crate) fn execute(&self) -> bool {
        self.inner().stage.execute()
    }

    /// Notes that the run has only its summary left to make.
    pub(crate) fn sum_up(&self) {
        self.inner().stage.sum_up();
    }

    pub(crate) fn is_summing_up(&self) -> bool {
        matches!(self.inner().stage, Stage::SummingUp { .. })
    }

    /// Notes the invocation that the run's answers belong to, before they are stored.
    pub(crate) fn claim_answers(&self, id: &InvocationId) {
        self.inner().stage.claim_answers(id);
    }

    /// Returns `true` if a caller that requests the invocation `id` can join this run.
    pub(crate) fn can_be_joined(&self, id: &InvocationId) -> bool {
        !self.stop.is_requested() && self.inner().accepts_callers_of(id, self.requested_invocation())
    }

    /// Returns `true` if a caller whose answers to the invocation `id` are already stored can join this run.
    pub(crate) fn runs_answered(&self, id: &InvocationId) -> bool {
        let inner = self.inner();
        let accepts = inner.accepts_callers_of(id, self.requested_invocation());
        !self.stop.is_requested() && (accepts || (inner.result.is_none() && inner.stage.answers(id)))
    }

    /// Makes the run yield the events of `leader`.
    pub(crate) fn join(&self, leader: &Arc<Self>) {
        self.inner().stage.join(leader);
    }

    /// Returns the run that executes: this one, or the one it joined.
    pub(crate) fn leader(self: &Arc<Self>) -> Arc<Self> {
        match &self.inner().stage {
            Stage::Joined { leader, .. } => Arc::clone(leader),
            _ => Arc::clone(self),
        }
    }

    pub(crate) fn is_detached(&self) -> bool {
        self.inner().is_detached
    }

    pub(crate) fn set_detached(&self) {
        self.inner().is_detached = true;
    }

    /// Waits until the message is stored or the run has ended.
    pub(crate) async fn begun(&self) {
        self.wait_until(|inner| inner.stage.invocation().is_some() || inner.result.is_some()).await;
    }

    /// Waits until the run has ended.
    pub(crate) async fn ended(&self) {
        self.wait_until(|inner| inner.result.is_some()).await;
    }

    async fn wait_until(&self, so: impl Fn(&Inner) -> bool) {
        loop {
            let changed = self.changed.notified();
            if so(&self.inner()) {
                return;
            }
            changed.await;
        }
    }
}

impl Inner {
    fn accepts_callers_of(&self, id: &InvocationId, requested: Option<&InvocationId>) -> bool {
        self.result.is_none() && self.stage.can_be_joined(id, requested)
    }
}

/// The events of the run.
impl RunState {
    /// Sets the task that polls the run.
    pub(crate) fn set_task(&self, task: &Arc<RunTask>) {
        // A run has one task: the first one stays.
        let _ = self.task.set(Arc::downgrade(task));
    }

    /// Returns the task that polls the run, or `None` if the run has no reader any more.
    pub(crate) fn task(&self) -> Option<Arc<RunTask>> {
        self.task.get()?.upgrade()
    }

    /// Yields an event to the readers; completes when one of them asks for the next event. Only the future that the task polls may
    /// call it, and not inside a `select`: only the next poll of the run wakes it.
    pub(crate) async fn yield_event(&self, event: Yielded) {
        self.inner().yielded = Some(event);
        pending!();
    }

    /// Takes the event that the run has yielded in this poll.
    pub(crate) fn take_yielded(&self) -> Option<Yielded> {
        self.inner().yielded.take()
    }

    /// Stops the run where it is, so that it can be resumed.
    pub(crate) fn cut(&self) {
        self.stop.request();
    }

    /// Notes the time of the run's last change of the session, in microseconds since the epoch.
    pub(crate) fn note_change(&self, micros: i64) {
        self.last_change.store(micros, Ordering::Release);
    }

    /// Returns the time of the run's last change of the session, in microseconds since the epoch.
    pub(crate) fn last_change(&self) -> i64 {
        self.last_change.load(Ordering::Acquire)
    }

    /// Offers a signal to the run, which stores it between its events.
    pub(crate) fn offer(&self, signal: OutgoingSignal) -> Receiver<Result<Offered, RunError>> {
        let offered = self.incoming.offer(signal);
        self.stop.wake();
        offered
    }

    /// Sends a stored event, or a fragment, to the followers.
    pub(crate) fn publish(&self, event: &Arc<Event>) {
        // A later follower reads the log after it has subscribed, and finds the event there.
        if !self.has_followers.load(Ordering::Acquire) {
            return;
        }
        // Sending wakes followers, so it must not happen under the lock.
        let feed = self.inner().feed.clone();
        if let Some(feed) = feed {
            // Fails only without a receiver.
            let _ = feed.send(RunEvent::new(Arc::clone(event)));
        }
    }

    /// Returns a receiver of all further events, or `None` if the run has ended.
    pub(crate) fn subscribe(&self) -> Option<broadcast::Receiver<RunEvent>> {
        let mut inner = self.inner();
        if inner.result.is_some() {
            return None;
        }
        self.has_followers.store(true, Ordering::Release);
        Some(inner.feed.get_or_insert_with(|| broadcast::channel(BACKLOG).0).subscribe())
    }
}

/// The end of the run.
impl RunState {
    /// Ends the run with its outcome.
    pub(crate) fn complete(&self, outcome: Outcome) {
        self.finish(Ok(outcome));
    }

    pub(crate) fn fail(&self, error: &RunError) {
        self.finish(Err(Failed { code: error.code().to_owned(), message: error.message() }));
    }

    /// Ends a run whose future was dropped.
    pub(crate) fn drop_unfinished(&self) {
        self.finish(Ok(Outcome::Cut(self.invocation())));
    }

    /// Ends the run; only the first call has an effect.
    fn finish(&self, result: Result<Outcome, Failed>) {
        self.incoming.close();
        let mut inner = self.inner();
        inner.result.get_or_insert(result);
        let feed = inner.feed.take();
        drop(inner);
        // Ends the followers' streams, and wakes them.
        drop(feed);
        self.changed.notify_waiters();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.inner().result.is_some()
    }

    /// Returns how the run ended, or `None` while it is active.
    pub(crate) fn end(&self) -> Option<RunEnd> {
        Some(match self.inner().result.as_ref()? {
            Ok(outcome) => outcome.end(),
            Err(Failed { code, message }) => RunEnd::Failed { code: code.clone(), message: message.clone() },
        })
    }

    /// Returns the outcome of a run that has ended without an error. A run without an outcome was cut off.
    pub(crate) fn outcome(&self) -> Outcome {
        let inner = self.inner();
        match &inner.result {
            Some(Ok(outcome)) => outcome.clone(),
            Some(Err(_)) | None => Outcome::Cut(inner.stage.invocation().cloned()),
        }
    }

    /// Returns the run's error for followers and joined callers.
    pub(crate) fn followed_error(&self) -> Option<RunError> {
        match self.inner().result.as_ref()? {
            Err(Failed { code, message }) => Some(RunError::Followed { code: code.clone(), message: message.clone() }),
            Ok(_) => None,
        }
    }
}
