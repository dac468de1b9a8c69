//! [`Together`]: futures that start together and are ended by the first failure.
// L103

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use pleach_context::NodeError;

/// Runs futures concurrently.
///
/// All futures are started, in order, before the first failure is returned. Dropping this value cancels them.
pub(super) struct Together<F: Future> {
    running: FuturesUnordered<F>,
    begun: Arc<AtomicUsize>,
    count: usize,
    failed: Option<NodeError>,
}

/// Creates a [`Together`] from futures.
pub(super) fn together<T, F: Future<Output = Result<T, NodeError>>>(
    futures: impl IntoIterator<Item = F>,
) -> Together<impl Future<Output = Result<T, NodeError>>> {
    let begun = Arc::new(AtomicUsize::new(0));
    let running: FuturesUnordered<_> = futures
        .into_iter()
        .map(|future| {
            let begun = Arc::clone(&begun);
            async move {
                begun.fetch_add(1, Ordering::Relaxed);
                future.await
            }
        })
        .collect();
    Together { count: running.len(), running, begun, failed: None }
}

impl<T, F: Future<Output = Result<T, NodeError>>> Together<F> {
    /// Returns the result of the next future that ends; `None` if all have ended.
    pub(super) fn poll_next(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<Result<T, NodeError>>> {
        loop {
            let next = self.running.poll_next_unpin(cx);
            // If futures wake themselves, a poll may return before the others have started.
            let have_begun = self.begun.load(Ordering::Relaxed) == self.count;
            match next {
                Poll::Ready(Some(Err(error))) if !have_begun => drop(self.failed.get_or_insert(error)),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(self.failed.take().unwrap_or(error)))),
                Poll::Ready(None) | Poll::Pending if self.failed.is_some() && have_begun => {
                    return Poll::Ready(self.failed.take().map(Err));
                }
                other => return other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Mutex;

    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;

    use super::*;

    type Ran = Arc<Mutex<Vec<u32>>>;

    /// Returns a future that wakes itself `times` times before it returns `result`.
    fn waking(
        number: u32,
        times: u32,
        result: Result<u32, NodeError>,
        ran: &Ran,
    ) -> BoxFuture<'static, Result<u32, NodeError>> {
        let (ran, mut left, mut result) = (Arc::clone(ran), times, Some(result));
        let mut has_begun = false;
        poll_fn(move |cx| {
            if !std::mem::replace(&mut has_begun, true) {
                ran.lock().unwrap().push(number);
            }
            if left > 0 {
                left -= 1;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(result.take().unwrap())
        })
        .boxed()
    }

    // L103
    #[test]
    fn l103_all_begin_before_a_failure_also_when_others_wake_themselves() {
        let ran = Ran::default();
        let fails = || Err(NodeError::value("no"));
        let mut running = together([
            waking(1, 5, Ok(1), &ran),
            waking(2, 5, Ok(2), &ran),
            waking(3, 0, fails(), &ran),
            waking(4, 5, Ok(4), &ran),
            waking(5, 5, Ok(5), &ran),
        ]);
        let failed = loop {
            if let Some(ended) = poll_fn(|cx| running.poll_next(cx)).now_or_never() {
                break ended;
            }
        };
        assert_eq!(failed.unwrap().unwrap_err().message(), "no");
        assert_eq!(*ran.lock().unwrap(), [1, 2, 3, 4, 5]);
    }
}
