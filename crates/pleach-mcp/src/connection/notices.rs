//! [`Notices`]: reads all messages of a server, and keeps the state of the session that is not an answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pleach_core::{Clock, mend_json};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::incoming::{self, Fault, Incoming, Notice, Origin, Report};
use super::ledger::{Excess, Ledger};
use crate::limits::Limits;

/// The maximum number of reports that are kept for a call until it takes them. Further reports are dropped.
const KEPT_REPORTS: usize = 64;

/// A limit that ended a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    /// The limit for one message.
    Message,
    /// A limit for everything that comes before an answer.
    Exchange(Excess),
}

/// The state of a session, except for its answers.
pub(crate) struct Notices {
    ledger: Mutex<Ledger>,
    clock: Arc<dyn Clock>,
    /// The number of reported changes of the list of tools.
    list_version: AtomicU64,
    watchers: Mutex<HashMap<i64, mpsc::Sender<Report>>>,
    /// Set when nothing more is read from the server.
    pub(super) ended: CancellationToken,
    exceeded: OnceLock<Limit>,
    /// Whether new requests need a new session.
    is_broken: AtomicBool,
    /// Whether the output ends with an unfinished message.
    is_begun: AtomicBool,
    /// Whether the server has forgotten the session, because it was restarted.
    is_forgotten: AtomicBool,
}

impl Notices {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            ledger: Mutex::new(Ledger::new(limits)),
            clock: Arc::clone(&limits.clock),
            list_version: AtomicU64::default(),
            watchers: Mutex::default(),
            ended: CancellationToken::new(),
            exceeded: OnceLock::new(),
            is_broken: AtomicBool::default(),
            is_begun: AtomicBool::default(),
            is_forgotten: AtomicBool::default(),
        }
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the session, because nothing that follows in it can be trusted.
    pub(super) fn exceed(&self, limit: Limit) {
        let _ = self.exceeded.set(limit);
        self.ended.cancel();
    }

    pub(super) fn exceeded(&self) -> Option<Limit> {
        self.exceeded.get().copied()
    }

    pub(super) fn note_broken(&self) {
        self.is_broken.store(true, Ordering::Release);
    }

    /// Notes whether the output ends with an unfinished message.
    pub(super) fn note_begun(&self, is_begun: bool) {
        self.is_begun.store(is_begun, Ordering::Release);
    }

    /// Ends the session if a message is unfinished, because the next bytes may be its rest or another message. Returns
    /// true in that case.
    pub(super) fn break_off(&self) -> bool {
        let is_begun = self.is_begun.load(Ordering::Acquire);
        if is_begun {
            self.note_broken();
        }
        is_begun
    }

    /// Records that the server no longer knows the session.
    pub(super) fn note_forgotten(&self) {
        self.is_forgotten.store(true, Ordering::Release);
        self.note_broken();
    }

    pub(super) fn is_forgotten(&self) -> bool {
        self.is_forgotten.load(Ordering::Acquire)
    }

    /// Returns true unless the server is known to refuse requests.
    pub(super) fn is_open(&self) -> bool {
        !self.ended.is_cancelled() && !self.is_broken.load(Ordering::Acquire)
    }

    pub(super) fn list_version(&self) -> u64 {
        self.list_version.load(Ordering::Acquire)
    }

    /// Counts received bytes. A server that sends too many loses its session.
    pub(super) fn count_bytes(&self, count: usize) {
        let counted = self.ledger().count_bytes(count, self.clock.now());
        self.check(counted);
    }

    /// Reads a message or a batch. Handles notices, and returns answers and requests. For an unreadable text, returns
    /// failures of the requests that it was meant to answer.
    pub(super) fn read(&self, text: &[u8], origin: Origin) -> Vec<Incoming> {
        self.read_json(text, origin).unwrap_or_else(|| self.read_broken(text, Fault::Unreadable, origin))
    }

    /// Reads a message or a batch. Returns `None` if the text is not JSON.
    pub(super) fn read_json(&self, text: &[u8], origin: Origin) -> Option<Vec<Incoming>> {
        let value: Value = serde_json::from_slice(&mend_json(text)).ok()?;
        let mut read = {
            let ledger = self.ledger();
            incoming::read(value, origin, &*ledger)
        };
        read.retain(|incoming| self.is_for_handling(incoming));
        Some(read)
    }

    /// Reads a message on a line of a log, which may repeat a message of the client.
    pub(super) fn read_logged(&self, text: &[u8]) -> Vec<Incoming> {
        let Ok(value) = serde_json::from_slice(&mend_json(text)) else { return Vec::new() };
        let mut read = {
            let ledger = self.ledger();
            let mut read = incoming::read(value, Origin::Channel, &*ledger);
            read.retain(|incoming| !incoming::may_be_of_client(incoming, &*ledger));
            read
        };
        read.retain(|incoming| self.is_for_handling(incoming));
        read
    }

    /// Returns failures of the requests that an unreadable text was meant to answer.
    pub(super) fn read_broken(&self, text: &[u8], fault: Fault, origin: Origin) -> Vec<Incoming> {
        incoming::read_broken(text, fault, origin, &*self.ledger())
    }

    /// Handles a notice and counts a request. Returns true if the message needs further handling.
    fn is_for_handling(&self, incoming: &Incoming) -> bool {
        match incoming {
            Incoming::Answer { .. } => true,
            Incoming::Request { .. } => {
                let counted = self.ledger().begin_request(self.clock.now());
                self.check(counted)
            }
            Incoming::Notice(notice) => {
                let counted = self.ledger().count_notice(self.clock.now());
                if self.check(counted) {
                    self.note(notice);
                }
                false
            }
        }
    }

    fn check(&self, counted: Result<(), Excess>) -> bool {
        counted.map_err(|excess| self.exceed(Limit::Exchange(excess))).is_ok()
    }

    /// Returns the reports of a call. Dropping them ends the subscription.
    pub(super) fn watch(self: &Arc<Self>, token: i64) -> Reports {
        let (sender, receiver) = mpsc::channel(KEPT_REPORTS);
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).insert(token, sender);
        Reports { token, receiver, notices: Arc::clone(self) }
    }

    fn note(&self, notice: &Notice) {
        match notice {
            Notice::ToolsChanged => {
                self.list_version.fetch_add(1, Ordering::AcqRel);
            }
            Notice::Progress { token, report } => {
                let watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(watcher) = watchers.get(token) {
                    // A call that takes its reports too slowly misses some.
                    let _ = watcher.try_send(report.clone());
                }
            }
            Notice::Other => {}
        }
    }
}

/// The reports of one call, in order.
pub(super) struct Reports {
    token: i64,
    receiver: mpsc::Receiver<Report>,
    notices: Arc<Notices>,
}

impl Reports {
    pub(super) async fn next(&mut self) -> Option<Report> {
        self.receiver.recv().await
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        self.notices.watchers.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.token);
    }
}
