//! [`interleave`]: interleaves futures in an order that a seed chooses.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

use crate::Seed;

/// Polls futures until all have ended, in an order that the seed chooses: each time, one of the futures that can
/// continue. Returns their outputs in the order of the futures.
///
/// On a current-thread runtime, and with services in memory, equal seeds produce equal orders. Runs in memory rarely
/// wait. To create points at which they can be interleaved, use a Runner with [`FaultySessions`](crate::FaultySessions)
/// whose plan has [`yields`](crate::FaultPlan::yields).
///
/// ```
/// use pleach_testkit::interleave;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let log = std::sync::Mutex::new(String::new());
/// let writer = async |letter| {
///     for _ in 0..3 {
///         log.lock().unwrap().push(letter);
///         tokio::task::yield_now().await;
///     }
/// };
/// interleave(7, [writer('a'), writer('b')]).await;
/// let first = std::mem::take(&mut *log.lock().unwrap());
/// interleave(7, [writer('a'), writer('b')]).await;
/// assert_eq!(*log.lock().unwrap(), first);
/// # }
/// ```
///
/// # Cancel safety
/// Dropping the future drops the futures that have not ended.
pub async fn interleave<F: Future>(seed: u64, futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut seed = Seed::new(seed);
    let whole = Arc::new(AtomicWaker::new());
    let mut lanes: Vec<Lane<F>> = futures.into_iter().map(|future| Lane::new(future, &whole)).collect();
    let mut outputs: Vec<Option<F::Output>> = lanes.iter().map(|_| None).collect();
    poll_fn(move |cx| {
        whole.register(cx.waker());
        let ready: Vec<usize> = (0..lanes.len()).filter(|lane| lanes[*lane].can_continue()).collect();
        if !ready.is_empty() {
            let chosen = ready[seed.below(ready.len())];
            if let Poll::Ready(output) = lanes[chosen].poll() {
                outputs[chosen] = Some(output);
            }
            // Futures that it has woken take part in the choice of the next one.
            cx.waker().wake_by_ref();
        }
        if lanes.iter().all(|lane| lane.future.is_none()) {
            Poll::Ready(outputs.drain(..).flatten().collect())
        } else {
            Poll::Pending
        }
    })
    .await
}

/// One of the futures; `None` after it has ended.
struct Lane<F: Future> {
    future: Option<Pin<Box<F>>>,
    flag: Arc<Flag>,
}

/// A flag that is set if a future was woken.
struct Flag {
    woken: AtomicBool,
    whole: Arc<AtomicWaker>,
}

impl<F: Future> Lane<F> {
    fn new(future: F, whole: &Arc<AtomicWaker>) -> Self {
        let flag = Arc::new(Flag { woken: AtomicBool::new(true), whole: Arc::clone(whole) });
        Self { future: Some(Box::pin(future)), flag }
    }

    fn can_continue(&self) -> bool {
        self.future.is_some() && self.flag.woken.load(Ordering::Acquire)
    }

    fn poll(&mut self) -> Poll<F::Output> {
        let Some(future) = &mut self.future else { return Poll::Pending };
        self.flag.woken.store(false, Ordering::Release);
        let waker = Waker::from(Arc::clone(&self.flag));
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.whole.wake();
    }
}
