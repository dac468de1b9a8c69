//! Joins an active run with the same invocation id.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use async_stream::stream;
use futures_util::Stream;

use crate::active::ActiveRun;
use crate::outcome::Outcome;
use crate::seat::Item;

/// A joined caller's place among the readers of a run. Dropping it leaves the run.
pub(crate) struct Share {
    leader: Arc<ActiveRun>,
    reader: u32,
}

impl Share {
    /// Joins a run, or returns `None` when it has ended.
    pub(crate) fn of(leader: Arc<ActiveRun>) -> Option<Self> {
        let reader = leader.seat.join()?;
        Some(Self { leader, reader })
    }

    pub(crate) fn leader(&self) -> &Arc<ActiveRun> {
        &self.leader
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.leader.seat.leave(self.reader);
    }
}

/// Returns whether a run was started with a different message than that of the caller that joins it.
pub(crate) fn differs(leader: &ActiveRun, run: &ActiveRun) -> bool {
    match (leader.message(), run.message()) {
        (Some(first), Some(message)) => first != message,
        _ => false,
    }
}

/// Returns the stream of the joined run for the caller `run`.
pub(crate) fn joined(share: Share, run: Arc<ActiveRun>) -> impl Stream<Item = Item> + Send {
    stream! {
        let leader = Arc::clone(share.leader());
        let mut begun = Some(Box::pin({
            let leader = Arc::clone(&leader);
            async move { leader.begun().await }
        }));
        let signal = run.abort_signal().clone();
        let mut aborted = Some(Box::pin(async move { signal.aborted().await }));
        loop {
            let next = std::future::poll_fn(|cx| {
                run.stopper.register(cx.waker());
                if run.is_closing() {
                    run.set_outcome(Outcome::Aborted);
                    return Poll::Ready(None);
                }
                if let Some(asked) = &mut aborted
                    && asked.as_mut().poll(cx).is_ready()
                {
                    aborted = None;
                    leader.abort();
                }
                let next = leader.seat.poll_next(share.reader, cx);
                if let Some(known) = &mut begun
                    && pin!(known).poll(cx).is_ready()
                {
                    begun = None;
                    leader.invocation().iter().for_each(|id| run.begin(id));
                }
                next
            });
            match next.await {
                Some(item) => yield item,
                None => break,
            }
        }
        if !run.is_closing() && let Some(outcome) = leader.outcome() {
            run.set_outcome(outcome);
        }
    }
}
