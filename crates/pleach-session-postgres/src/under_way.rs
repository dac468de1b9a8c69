//! The operations under way: who waits for those that began before keeps nobody from beginning another.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;

/// The operations of a service; clones share them.
#[derive(Clone, Default)]
pub(crate) struct UnderWay {
    now: Arc<watch::Sender<Numbers>>,
}

/// Operations, numbered as they begin.
#[derive(Default)]
struct Numbers {
    /// How many have begun: the next one's number.
    begun: u64,
    open: BTreeSet<u64>,
    /// The open ones whose callers went away.
    alone: BTreeSet<u64>,
    is_closed: bool,
}

/// An operation, until it is dropped.
pub(crate) struct Operation {
    under_way: UnderWay,
    number: u64,
}

/// The caller of an operation, until it is dropped: then the operation is alone, if it has not ended.
pub(crate) struct Caller {
    under_way: UnderWay,
    number: u64,
}

impl UnderWay {
    /// Begins an operation; `None` when no more are taken.
    pub(crate) fn begin(&self) -> Option<Operation> {
        let mut begun = None;
        self.now.send_if_modified(|now| {
            if !now.is_closed {
                now.open.insert(now.begun);
                begun = Some(Operation { under_way: self.clone(), number: now.begun });
                now.begun += 1;
            }
            // Nobody waits for a beginning.
            false
        });
        begun
    }

    /// Waits for the operations that are alone now.
    pub(crate) async fn until_settled(&self) {
        if !self.now.borrow().alone.is_empty() {
            self.until_ended(|now| &now.alone).await;
        }
    }

    /// Waits for the operations that are open now; false when no more were taken already.
    pub(crate) async fn until_done(&self) -> bool {
        let is_open = !self.now.borrow().is_closed;
        self.until_ended(|now| &now.open).await;
        is_open
    }

    /// Takes no more operations and waits for the open ones.
    pub(crate) async fn close(&self) {
        self.now.send_modify(|now| now.is_closed = true);
        self.until_ended(|now| &now.open).await;
    }

    async fn until_ended(&self, which: fn(&Numbers) -> &BTreeSet<u64>) {
        let mut watching = self.now.subscribe();
        let begun = watching.borrow().begun;
        // The sender is ours, so there is one until the end.
        let _ = watching.wait_for(|now| which(now).first().is_none_or(|&first| first >= begun)).await;
    }
}

impl Operation {
    pub(crate) fn caller(&self) -> Caller {
        Caller { under_way: self.under_way.clone(), number: self.number }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        self.under_way.now.send_modify(|now| {
            now.open.remove(&self.number);
            now.alone.remove(&self.number);
        });
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.under_way.now.send_if_modified(|now| {
            if now.open.contains(&self.number) {
                now.alone.insert(self.number);
            }
            false
        });
    }
}
