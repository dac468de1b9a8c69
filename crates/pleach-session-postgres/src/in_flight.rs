//! [`InFlight`]: tracks operations in flight. Waiting for earlier operations does not block new ones.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;

/// The operations in flight of a service; clones share them.
#[derive(Clone, Default)]
pub(crate) struct InFlight {
    now: Arc<watch::Sender<Numbers>>,
}

/// Operations, numbered as they begin.
#[derive(Default)]
struct Numbers {
    /// The number of the next operation.
    begun: u64,
    open: BTreeSet<u64>,
    /// The open operations whose callers have gone away.
    abandoned: BTreeSet<u64>,
    is_closed: bool,
}

/// An operation in flight, until this value is dropped.
pub(crate) struct Operation {
    in_flight: InFlight,
    number: u64,
}

/// The caller of an operation. If this value is dropped before the operation has ended, the operation is abandoned.
pub(crate) struct Caller {
    in_flight: InFlight,
    number: u64,
}

impl InFlight {
    /// Begins an operation; `None` if the tracker is closed.
    pub(crate) fn begin(&self) -> Option<Operation> {
        let mut begun = None;
        self.now.send_if_modified(|now| {
            if !now.is_closed {
                now.open.insert(now.begun);
                begun = Some(Operation { in_flight: self.clone(), number: now.begun });
                now.begun += 1;
            }
            // Wake no waiter, because none waits for a new operation.
            false
        });
        begun
    }

    /// Waits for the operations that are abandoned at this moment.
    pub(crate) async fn wait_for_abandoned(&self) {
        if !self.now.borrow().abandoned.is_empty() {
            self.until_ended(|now| &now.abandoned).await;
        }
    }

    /// Waits for the operations that are open at this moment. Returns `false` if the tracker was already closed.
    pub(crate) async fn until_done(&self) -> bool {
        let is_open = !self.now.borrow().is_closed;
        self.until_ended(|now| &now.open).await;
        is_open
    }

    /// Refuses new operations and waits for the open ones.
    pub(crate) async fn close(&self) {
        self.now.send_modify(|now| now.is_closed = true);
        self.until_ended(|now| &now.open).await;
    }

    async fn until_ended(&self, which: fn(&Numbers) -> &BTreeSet<u64>) {
        let mut watching = self.now.subscribe();
        let begun = watching.borrow().begun;
        // `self` owns the sender, so the channel stays open.
        let _ = watching.wait_for(|now| which(now).first().is_none_or(|&first| first >= begun)).await;
    }
}

impl Operation {
    pub(crate) fn caller(&self) -> Caller {
        Caller { in_flight: self.in_flight.clone(), number: self.number }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        self.in_flight.now.send_modify(|now| {
            now.open.remove(&self.number);
            now.abandoned.remove(&self.number);
        });
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.in_flight.now.send_if_modified(|now| {
            if now.open.contains(&self.number) {
                now.abandoned.insert(self.number);
            }
            false
        });
    }
}
