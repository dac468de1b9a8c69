//! What a server says unasked, noted in the order in which it comes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{ProgressNotificationParam, ProgressToken, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Reports of one call that are kept while the call does not take them; further ones are dropped.
const KEPT_REPORTS: usize = 64;

/// What is known of a session besides its answers.
#[derive(Default)]
pub(crate) struct Notices {
    /// Rises with each change of the list of tools.
    list_version: AtomicU64,
    watchers: Mutex<HashMap<ProgressToken, mpsc::Sender<ProgressNotificationParam>>>,
    /// Set when the server says nothing more.
    pub(super) ended: CancellationToken,
    /// Whether a message was too large.
    is_exceeded: AtomicBool,
    /// Whether new requests need a new session.
    is_broken: AtomicBool,
}

impl Notices {
    pub(super) fn note_exceeded(&self) {
        self.is_exceeded.store(true, Ordering::Release);
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded.load(Ordering::Acquire)
    }

    pub(super) fn note_broken(&self) {
        self.is_broken.store(true, Ordering::Release);
    }

    /// Returns whether the server takes requests, as far as it is known.
    pub(super) fn is_open(&self) -> bool {
        !self.ended.is_cancelled() && !self.is_broken.load(Ordering::Acquire)
    }

    pub(super) fn list_version(&self) -> u64 {
        self.list_version.load(Ordering::Acquire)
    }

    /// Returns the reports of a call until they are dropped.
    pub(super) fn watch(self: &Arc<Self>, token: ProgressToken) -> Reports {
        let (sender, receiver) = mpsc::channel(KEPT_REPORTS);
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), sender);
        Reports { token, receiver, notices: Arc::clone(self) }
    }

    fn note(&self, message: &RxJsonRpcMessage<RoleClient>) {
        let RxJsonRpcMessage::<RoleClient>::Notification(notice) = message else { return };
        match &notice.notification {
            ServerNotification::ToolListChangedNotification(_) => {
                self.list_version.fetch_add(1, Ordering::AcqRel);
            }
            ServerNotification::ProgressNotification(report) => {
                let watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(watcher) = watchers.get(&report.params.progress_token) {
                    // A call that takes its reports too slowly misses some.
                    let _ = watcher.try_send(report.params.clone());
                }
            }
            _ => {}
        }
    }
}

/// The reports of one call.
pub(super) struct Reports {
    token: ProgressToken,
    receiver: mpsc::Receiver<ProgressNotificationParam>,
    notices: Arc<Notices>,
}

impl Reports {
    pub(super) async fn next(&mut self) -> Option<ProgressNotificationParam> {
        self.receiver.recv().await
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        self.notices.watchers.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.token);
    }
}

/// A transport whose messages are noted before they are handled: handling happens in tasks, in any order.
pub(super) struct Noted<T> {
    pub(super) transport: T,
    pub(super) notices: Arc<Notices>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Noted<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.transport.receive().await;
        match &message {
            Some(message) => self.notices.note(message),
            None => self.notices.ended.cancel(),
        }
        message
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.notices.ended.cancel();
        self.transport.close()
    }
}

impl<T> Drop for Noted<T> {
    fn drop(&mut self) {
        self.notices.ended.cancel();
    }
}
