//! [`ActiveRun`]: what a run shares with those who follow it, stop it or wait for its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::task::AtomicWaker;
use pleach_context::AbortSignal;
use pleach_context::telemetry::SpanEnd;
use pleach_core::{Content, Event, InvocationId, SessionKey};
use tokio::sync::{Notify, broadcast};

use crate::message::as_user;
use crate::outcome::{Outcome, RunEnd};
use crate::seat::{BACKLOG, Seat};
use crate::{RunError, RunEvent, RunRequest, SessionRef};

/// What a run shares with those who follow it, stop it or wait for its end.
pub(crate) struct ActiveRun {
    session: SessionRef,
    /// The invocation that the caller names, unless its message answers something: the key under which callers join.
    requested_invocation: Option<InvocationId>,
    abort: AbortSignal,
    closing: AtomicBool,
    detached: AtomicBool,
    summing_up: AtomicBool,
    /// Whether there ever was a follower; spares the others a lock for each event.
    followed: AtomicBool,
    /// Who reads the run.
    pub(crate) seat: Arc<Seat>,
    /// Wakes the run, where it waits for its root node, when it has to stop.
    pub(crate) stopper: AtomicWaker,
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Default)]
struct Inner {
    key: Option<SessionKey>,
    /// The session that it waits for, or has waited for.
    queued: Option<SessionKey>,
    invocation: Option<InvocationId>,
    /// The message that the invocation began with, as far as it is known.
    message: Option<Content>,
    /// The run that this one has joined.
    leader: Option<Arc<ActiveRun>>,
    outcome: Option<Outcome>,
    /// There only while somebody has asked for it: most runs are never followed.
    feed: Option<broadcast::Sender<RunEvent>>,
    end: Option<RunEnd>,
}

impl ActiveRun {
    pub(crate) fn new(request: &RunRequest) -> Self {
        let answers = request.answers();
        let message = request.message.clone().filter(|_| !answers).map(as_user);
        Self {
            session: request.session.clone(),
            requested_invocation: request.invocation_id.clone().filter(|_| !answers),
            abort: request.abort.clone(),
            closing: AtomicBool::new(false),
            detached: AtomicBool::new(false),
            summing_up: AtomicBool::new(false),
            followed: AtomicBool::new(false),
            seat: Arc::default(),
            stopper: AtomicWaker::new(),
            inner: Mutex::new(Inner { message, ..Inner::default() }),
            changed: Notify::new(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Every change below is one assignment: a panic elsewhere leaves nothing half-changed.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session as the caller named it.
    pub(crate) fn session(&self) -> &SessionRef {
        &self.session
    }

    /// The session, once it is found.
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

    pub(crate) fn is_queued_in(&self, key: &SessionKey) -> bool {
        self.inner().queued.as_ref() == Some(key)
    }

    /// The invocation, once its message is stored.
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

    pub(crate) fn set_detached(&self) {
        self.detached.store(true, Ordering::Release);
    }

    /// Asks the run to stop and to close its open calls.
    // R1130
    pub(crate) fn abort(&self) {
        self.abort.abort();
    }

    /// Asks the run to stop where it is.
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

    /// Says that nothing but a summary is left of the run.
    pub(crate) fn set_summing_up(&self) {
        self.summing_up.store(true, Ordering::Release);
    }

    pub(crate) fn is_summing_up(&self) -> bool {
        self.summing_up.load(Ordering::Acquire)
    }

    /// The end of the run, as its span tells of it.
    pub(crate) fn span_end(&self) -> SpanEnd {
        self.inner().outcome.as_ref().map_or(SpanEnd::Completed, Outcome::span_end)
    }

    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.inner().outcome.clone()
    }

    /// The message that the invocation began with, as far as it is known.
    pub(crate) fn message(&self) -> Option<Content> {
        self.inner().message.clone()
    }

    /// Notes the message that the invocation began with, unless the caller of this run has given it.
    pub(crate) fn set_message(&self, message: &Content) {
        self.inner().message.get_or_insert_with(|| message.clone());
    }

    /// The invocation under which the caller can join another run.
    pub(crate) fn requested_invocation(&self) -> Option<&InvocationId> {
        self.requested_invocation.as_ref()
    }

    /// Whether a caller who wants the invocation `id` can join this run.
    pub(crate) fn can_be_joined(&self, id: &InvocationId) -> bool {
        if self.is_closing() || self.is_summing_up() {
            return false;
        }
        let inner = self.inner();
        inner.end.is_none() && inner.invocation.as_ref().or(self.requested_invocation.as_ref()) == Some(id)
    }

    pub(crate) fn set_leader(&self, leader: &Arc<Self>) {
        self.inner().leader = Some(Arc::clone(leader));
    }

    /// The run that does the work: this one, or the one it has joined.
    pub(crate) fn leader(self: &Arc<Self>) -> Arc<Self> {
        self.inner().leader.clone().unwrap_or_else(|| Arc::clone(self))
    }

    pub(crate) fn abort_signal(&self) -> &AbortSignal {
        &self.abort
    }

    /// Hands an event that was stored, or a fragment that never is, to the followers.
    pub(crate) fn publish(&self, event: &Arc<Event>) {
        // Who follows from now on reads the log after saying so, and finds the event there.
        if !self.followed.load(Ordering::Acquire) {
            return;
        }
        // Not sent under the lock: followers are woken by it.
        let feed = self.inner().feed.clone();
        if let Some(feed) = feed {
            // Fails only when nobody listens any more.
            let _ = feed.send(RunEvent::new(Arc::clone(event)));
        }
    }

    /// The events from now on; `None` when the run has ended.
    pub(crate) fn subscribe(&self) -> Option<broadcast::Receiver<RunEvent>> {
        let mut inner = self.inner();
        if inner.end.is_some() {
            return None;
        }
        self.followed.store(true, Ordering::Release);
        Some(inner.feed.get_or_insert_with(|| broadcast::channel(BACKLOG).0).subscribe())
    }

    /// Says that the stream has come to its end; its outcome tells which.
    pub(crate) fn complete(&self) {
        let is_closing = self.is_closing();
        let end = self.inner().outcome.as_ref().map_or(RunEnd::Cut, |outcome| outcome.end(is_closing));
        self.finish(end);
    }

    pub(crate) fn fail(&self, error: &RunError) {
        self.finish(RunEnd::Failed { code: error.code().to_owned(), message: error.message() });
    }

    /// Says how the run ended; only the first call counts.
    pub(crate) fn finish(&self, end: RunEnd) {
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

    /// What the run failed with, for others than its reader.
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
