//! [`RootDriver`]: polls the root node inside the caller's task.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;
use pleach_context::engine::{InvocationHandle, RunResult};
use pleach_core::BoxFuture;

use crate::run::stop::StopSignal;
use crate::signals::incoming::Incoming;

/// The number of polls of the root within one poll of the run, before it yields to the executor.
const POLL_BUDGET: usize = 32;

/// Polls the root node of an invocation.
///
/// Acknowledging an event wakes the node that sent it. The wake is passed on to the caller's task only while that task
/// sleeps; otherwise the Runner polls the root anyway.
pub(crate) struct RootDriver<'a> {
    /// The root's future; `None` once it has ended, because a completed future must not be polled again.
    root: Option<BoxFuture<'a, RunResult>>,
    ended: Option<RunResult>,
    signal: Arc<RootWaker>,
    waker: Waker,
}

#[derive(Default)]
struct RootWaker {
    woken: AtomicBool,
    sleeper: AtomicWaker,
}

impl Wake for RootWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.sleeper.wake();
        }
    }
}

/// Returns `true` if the run was aborted or must stop where it is.
pub(crate) fn must_stop(ic: &InvocationHandle, stop: &StopSignal) -> bool {
    ic.is_aborted() || stop.is_requested()
}

/// Waits until the run must stop. Only one task may wait at a time.
pub(crate) async fn stopped(ic: &InvocationHandle, stop: &StopSignal) {
    let mut aborted = pin!(ic.abort_signal().aborted());
    poll_fn(|cx| {
        stop.register(cx.waker());
        if stop.is_requested() {
            return Poll::Ready(());
        }
        aborted.as_mut().poll(cx)
    })
    .await;
}

impl<'a> RootDriver<'a> {
    pub(crate) fn new(root: BoxFuture<'a, RunResult>) -> Self {
        let signal = Arc::new(RootWaker::default());
        let waker = Waker::from(Arc::clone(&signal));
        Self { root: Some(root), ended: None, signal, waker }
    }

    /// Polls until the root has sent an event, waits to run a first body, asks whether the run still has its session, or has ended; or
    /// until the run must stop or store an `incoming` signal.
    pub(crate) async fn poll_until_work(
        &mut self,
        ic: &InvocationHandle,
        stop: &StopSignal,
        incoming: Option<&Incoming>,
    ) {
        // Most steps end in their first poll, and need no future that waits.
        let mut waits = None;
        let calls = || {
            ic.queue().has_events()
                || ic.work_gate().is_wanted()
                || ic.fence().unanswered().is_some()
                || incoming.is_some_and(Incoming::has_any)
        };
        poll_fn(|cx| {
            if must_stop(ic, stop) || self.poll_root(cx, calls).is_ready() {
                return Poll::Ready(());
            }
            ic.queue().wake_on_event(cx.waker());
            ic.fence().wake_on_question(cx.waker());
            if calls() {
                return Poll::Ready(());
            }
            // Registered last, because it takes a lock and only a waiting run needs it.
            let stops = waits.get_or_insert_with(|| Box::pin(stopped(ic, stop))).as_mut().poll(cx);
            // A signal that came before the registration has woken no one.
            if incoming.is_some_and(Incoming::has_any) { Poll::Ready(()) } else { stops }
        })
        .await;
    }

    /// Waits for `other`, such as an append, and polls the root in the meantime.
    pub(crate) async fn poll_root_while<F: Future>(&mut self, mut other: Pin<&mut F>) -> F::Output {
        poll_fn(|cx| {
            let result = other.as_mut().poll(cx);
            if result.is_pending() {
                let _ = self.poll_root(cx, || false);
            }
            result
        })
        .await
    }

    /// Polls the root once and returns `true` if it has ended.
    pub(crate) async fn has_ended(&mut self) -> bool {
        poll_fn(|cx| {
            let _ = self.poll_root(cx, || false);
            Poll::Ready(self.root.is_none())
        })
        .await
    }

    /// Returns the result of the root, once it has ended.
    pub(crate) fn result(&self) -> Option<&RunResult> {
        self.ended.as_ref()
    }

    /// Takes the result of the root, once it has ended.
    pub(crate) fn take_end(&mut self) -> Option<RunResult> {
        self.ended.take()
    }

    fn poll_root(&mut self, cx: &mut TaskContext<'_>, enough: impl Fn() -> bool) -> Poll<()> {
        for _ in 0..POLL_BUDGET {
            let Some(root) = &mut self.root else { return Poll::Ready(()) };
            self.signal.sleeper.take();
            self.signal.woken.store(false, Ordering::Release);
            if let Poll::Ready(end) = root.as_mut().poll(&mut TaskContext::from_waker(&self.waker)) {
                self.root = None;
                self.ended = Some(end);
                return Poll::Ready(());
            }
            if enough() {
                return Poll::Ready(());
            }
            self.signal.sleeper.register(cx.waker());
            // A wake between the poll and the registration only set the flag.
            if !self.signal.woken.load(Ordering::Acquire) {
                return Poll::Pending;
            }
            if !tokio::task::coop::has_budget_remaining() {
                break;
            }
        }
        // The root keeps waking itself, so yield to other tasks.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use pleach_context::engine::{NodeEnd, NodeResult};

    use super::*;

    /// Events of cancelled runs may still be pending when the root has ended.
    #[tokio::test]
    async fn r640_an_append_after_the_end_does_not_poll_the_root_again() {
        let mut root = RootDriver::new(Box::pin(async { Ok(NodeEnd::Done(NodeResult::default())) }));
        root.poll_root_while(pin!(tokio::task::yield_now())).await;
        assert!(root.take_end().is_some());
        root.poll_root_while(pin!(tokio::task::yield_now())).await;
        assert!(root.take_end().is_none());
    }
}
