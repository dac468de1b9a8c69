//! [`Together`]: what begins together and is ended by the first failure.
// L103

use std::task::{Context as TaskContext, Poll};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use pleach_context::NodeError;

/// Runs futures at the same time. All are begun, in order, before the first failure is returned; dropping this cancels them.
pub(super) struct Together<F: Future> {
    running: FuturesUnordered<F>,
    all_begun: bool,
    failed: Option<NodeError>,
}

impl<T, F: Future<Output = Result<T, NodeError>>> Together<F> {
    pub(super) fn new(futures: impl IntoIterator<Item = F>) -> Self {
        Self { running: futures.into_iter().collect(), all_begun: false, failed: None }
    }

    /// Returns what the next of them gives; `None` when all have ended.
    pub(super) fn poll_next(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<Result<T, NodeError>>> {
        loop {
            match self.running.poll_next_unpin(cx) {
                Poll::Ready(Some(Err(error))) if !self.all_begun => drop(self.failed.get_or_insert(error)),
                Poll::Ready(None) | Poll::Pending if self.failed.is_some() => {
                    return Poll::Ready(self.failed.take().map(Err));
                }
                Poll::Pending => {
                    self.all_begun = true;
                    return Poll::Pending;
                }
                ready => return ready,
            }
        }
    }
}
