//! [`RunState`]: the part of a run that its followers, joined callers and stoppers share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::task::AtomicWaker;
use pleach_context::AbortSignal;
use pleach_context::telemetry::SpanEnd;
use pleach_core::{Content, Event, InvocationId, Map, SessionKey, StateRights};
use tokio::sync::oneshot::Receiver;
use tokio::sync::{Notify, broadcast};

use crate::request::message::as_user;
use crate::run::outcome::{Outcome, RunEnd};
use crate::run::task::{BACKLOG, RunTask};
use crate::signals::incoming::{Incoming, Offered};
use crate::signals::outgoing::OutgoingSignal;
use crate::{RunError, RunEvent, RunRequest, SessionRef};

/// The part of a run that its followers, joined callers and stoppers share.
pub(crate) struct RunState {
    session: SessionRef,
    /// The invocation that the caller names, unless the message is an answer. Callers join a run by this id.
    requested_invocation: Option<InvocationId>,
    /// The changes of state that the caller requests.
    state_delta: Map,
    state_rights: StateRights,
    abort: AbortSignal,
    closing: AtomicBool,
    detached: AtomicBool,
    /// Whether the run executes the invocation. It is false if the run was refused or only returns the recorded result.
    executes: AtomicBool,
    streams: AtomicBool,
    summing_up: AtomicBool,
    /// Whether a follower has subscribed; runs without one skip a lock per event.
    followed: AtomicBool,
    /// The signals that the run stores while it works.
    pub(crate) incoming: Incoming,
    /// The future of the run, and its readers.
    pub(crate) task: Arc<RunTask>,
    /// Wakes the run when it must stop, or store a signal, while it waits for its root node.
    pub(crate) stopper: AtomicWaker,
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Default)]
struct Inner {
    key: Option<SessionKey>,
    /// The session that the run is or was queued for.
    queued: Option<SessionKey>,
    invocation: Option<InvocationId>,
    /// The invocation that the run's answers belong to, known before the run begins.
    answered: Option<InvocationId>,
    /// The request that started the invocation, if known.
    first: Option<First>,
    /// The run that this one joined.
    leader: Option<Arc<RunState>>,
    outcome: Option<Outcome>,
    /// The channel to followers; `None` until a follower subscribes, because most runs are never followed.
    feed: Option<broadcast::Sender<RunEvent>>,
    end: Option<RunEnd>,
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
        Self {
            session: request.session.clone(),
            requested_invocation: request.invocation_id.clone().filter(|_| !answers),
            state_delta: request.state_delta.clone(),
            state_rights: request.state_rights,
            abort: request.abort.clone(),
            closing: AtomicBool::new(false),
            detached: AtomicBool::new(false),
            executes: AtomicBool::new(false),
            streams: AtomicBool::new(false),
            summing_up: AtomicBool::new(false),
            followed: AtomicBool::new(false),
            incoming: Incoming::default(),
            task: Arc::default(),
            stopper: AtomicWaker::new(),
            inner: Mutex::new(Inner { first, ..Inner::default() }),
            changed: Notify::new(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Every change is a single assignment, so a panic elsewhere leaves nothing half-changed.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session as the caller named it.
    pub(crate) fn session(&self) -> &SessionRef {
        &self.session
    }

    /// Returns the key of the session, once it is known.
    pub(crate) fn key(&self) -> Option<SessionKey> {
        self.inner().key.clone()
    }

    pub(crate) fn is_in(&self, key: &SessionKey) -> bool {
        self.inner().key.as_ref() == Some(key)
    }

    pub(crate) fn set_key(&self, key: SessionKey) {
        self.inner().key = Some(key);
    }

    pub(crate) fn set_queued(&self, key: SessionKey) {
        self.inner().queued = Some(key);
    }

    pub(crate) fn is_queued(&self) -> bool {
        self.inner().queued.is_some()
    }

    pub(crate) fn is_queued_in(&self, key: &SessionKey) -> bool {
        self.inner().queued.as_ref() == Some(key)
    }

    /// Returns the invocation, once its message is stored.
    pub(crate) fn invocation(&self) -> Option<InvocationId> {
        self.inner().invocation.clone()
    }

    pub(crate) fn begin(&self, invocation: &InvocationId) {
        self.inner().invocation = Some(invocation.clone());
        self.changed.notify_waiters();
    }

    pub(crate) fn is_detached(&self) -> bool {
        self.detached.load(Ordering::Acquire)
    }

    pub(crate) fn executes(&self) -> bool {
        self.executes.load(Ordering::Acquire)
    }

    pub(crate) fn set_executes(&self) {
        self.executes.store(true, Ordering::Release);
    }

    /// Asks models for fragments, if the run has not begun.
    pub(crate) fn set_streams(&self) {
        self.streams.store(true, Ordering::Release);
    }

    pub(crate) fn streams(&self) -> bool {
        self.streams.load(Ordering::Acquire)
    }

    pub(crate) fn set_detached(&self) {
        self.detached.store(true, Ordering::Release);
    }

    /// Aborts the run: it stops and answers its open calls.
    // R1130
    pub(crate) fn abort(&self) {
        self.abort.abort();
    }

    /// Stops the run where it is, so that it can be resumed.
    pub(crate) fn cut(&self) {
        self.closing.store(true, Ordering::Release);
        self.stopper.wake();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    pub(crate) fn set_outcome(&self, outcome: Outcome) {
        self.inner().outcome = Some(outcome);
    }

    /// Records that the run has only its summary left to make.
    pub(crate) fn begin_summary(&self) {
        self.summing_up.store(true, Ordering::Release);
    }

    pub(crate) fn is_summing_up(&self) -> bool {
        self.summing_up.load(Ordering::Acquire)
    }

    /// Returns the end of the run's span, and the number of answers that the run waits for.
    pub(crate) fn span_end(&self) -> (SpanEnd, usize) {
        self.inner().outcome.as_ref().map_or((SpanEnd::Completed, 0), Outcome::span_end)
    }

    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.inner().outcome.clone()
    }

    /// Returns how the run ended. A run without an outcome was cut off.
    pub(crate) fn final_outcome(&self) -> Outcome {
        self.outcome().unwrap_or_else(|| Outcome::Cut(self.invocation()))
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
                FirstRequest { message: Some(message.clone()), state_delta: self.state_delta.clone() }
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

    /// Returns the invocation under which the caller can join another run.
    pub(crate) fn requested_invocation(&self) -> Option<&InvocationId> {
        self.requested_invocation.as_ref()
    }

    /// Returns the changes of state that the caller requests.
    pub(crate) fn state_delta(&self) -> &Map {
        &self.state_delta
    }

    /// Returns which keys the caller may change.
    pub(crate) fn state_rights(&self) -> StateRights {
        self.state_rights
    }

    /// Notes the invocation that the run's answers belong to, before they are stored.
    pub(crate) fn set_answered(&self, id: &InvocationId) {
        self.inner().answered = Some(id.clone());
    }

    /// Returns `true` if a caller that requests the invocation `id` can join this run.
    pub(crate) fn can_be_joined(&self, id: &InvocationId) -> bool {
        if self.is_closing() || self.is_summing_up() {
            return false;
        }
        let inner = self.inner();
        inner.end.is_none() && inner.invocation.as_ref().or(self.requested_invocation.as_ref()) == Some(id)
    }

    /// Returns `true` if a caller whose answers to the invocation `id` are already stored can join this run.
    pub(crate) fn runs_answered(&self, id: &InvocationId) -> bool {
        let answers = || {
            let inner = self.inner();
            inner.end.is_none() && inner.answered.as_ref() == Some(id)
        };
        self.can_be_joined(id) || (!self.is_closing() && !self.is_summing_up() && answers())
    }

    pub(crate) fn set_leader(&self, leader: &Arc<Self>) {
        self.inner().leader = Some(Arc::clone(leader));
    }

    /// Returns the run that executes: this one, or the one it joined.
    pub(crate) fn leader(self: &Arc<Self>) -> Arc<Self> {
        self.inner().leader.clone().unwrap_or_else(|| Arc::clone(self))
    }

    pub(crate) fn abort_signal(&self) -> &AbortSignal {
        &self.abort
    }

    /// Offers a signal to the run, which stores it between its events.
    pub(crate) fn offer(&self, signal: OutgoingSignal) -> Receiver<Result<Offered, RunError>> {
        let offered = self.incoming.offer(signal);
        self.stopper.wake();
        offered
    }

    /// Sends a stored event, or a fragment, to the followers.
    pub(crate) fn publish(&self, event: &Arc<Event>) {
        // A later follower reads the log after it has subscribed, and finds the event there.
        if !self.followed.load(Ordering::Acquire) {
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
        if inner.end.is_some() {
            return None;
        }
        self.followed.store(true, Ordering::Release);
        Some(inner.feed.get_or_insert_with(|| broadcast::channel(BACKLOG).0).subscribe())
    }

    /// Ends the run with its outcome.
    pub(crate) fn complete(&self) {
        let end = self.inner().outcome.as_ref().map_or(RunEnd::Cut, Outcome::end);
        self.finish(end);
    }

    pub(crate) fn fail(&self, error: &RunError) {
        self.finish(RunEnd::Failed { code: error.code().to_owned(), message: error.message() });
    }

    /// Ends the run; only the first call has an effect.
    pub(crate) fn finish(&self, end: RunEnd) {
        self.incoming.close();
        let mut inner = self.inner();
        inner.end.get_or_insert(end);
        let feed = inner.feed.take();
        drop(inner);
        drop(feed);
        self.changed.notify_waiters();
    }

    pub(crate) fn end(&self) -> Option<RunEnd> {
        self.inner().end.clone()
    }

    /// Returns the run's error for followers and joined callers.
    pub(crate) fn followed_error(&self) -> Option<RunError> {
        match self.end() {
            Some(RunEnd::Failed { code, message }) => Some(RunError::Followed { code, message }),
            _ => None,
        }
    }

    /// Waits until the message is stored or the run has ended.
    pub(crate) async fn begun(&self) {
        self.wait_until(|inner| inner.invocation.is_some() || inner.end.is_some()).await;
    }

    /// Waits until the run has ended.
    pub(crate) async fn ended(&self) {
        self.wait_until(|inner| inner.end.is_some()).await;
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
