//! [`RunSet`]: polls the runs of one orchestrator inside its task.
//!
//! Woken runs are polled in wake order, new runs in trigger order. A pass ends when tokio's cooperative budget is
//! spent, because from then on every timer and channel would return `Pending`.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, Wake, Waker, ready};

use futures_util::task::AtomicWaker;
use pleach_context::NodeError;
use pleach_context::engine::{NodeEnd, NodeResult, RunHandle, RunResult, Ticket};
use pleach_core::BoxFuture;

use super::NodeRun;
use super::background::BackgroundChildren;
use super::transfer::follow_in_graph;

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The graph node that ran.
    pub(crate) node: usize,
    /// Its context.
    pub(crate) handle: RunHandle,
    /// Its result.
    pub(crate) end: RunResult,
}

/// The end of an executed run, with the order in which it is handled.
#[derive(Debug)]
pub(crate) struct Executed<T> {
    /// Its position in the order of completions.
    pub(crate) order: CompletionOrder,
    /// The run's start number.
    pub(crate) seq: u64,
    /// The end.
    pub(crate) end: T,
}

/// The position of a completion among the events of its invocation: the run's own last event, or the next event of the
/// invocation if the run has none.
///
/// Completions are handled in this order because a replay sees the order of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CompletionOrder {
    event: Ticket,
    own: bool,
}

impl CompletionOrder {
    /// Returns `true` if the run has sent an event.
    pub(crate) fn has_own(self) -> bool {
        self.own
    }

    #[cfg(test)]
    pub(crate) fn at(event: Ticket, own: bool) -> Self {
        Self { event, own }
    }

    fn of(handle: &RunHandle) -> Self {
        let own = handle.last_event();
        Self { event: own.unwrap_or_else(|| handle.invocation().queue().next_ticket()), own: own.is_some() }
    }
}

/// The runs of one orchestrator.
pub(crate) struct RunSet<'a> {
    slots: Vec<Slot<'a>>,
    free: Vec<usize>,
    fresh: VecDeque<usize>,
    shared: Arc<Shared>,
    running: usize,
    finished: Vec<Executed<Finished>>,
    polled: Vec<usize>,
    /// Whether to yield once before the first run is polled.
    yields: bool,
    /// Dropped last: background children are children of the runs.
    background: BackgroundChildren,
}

struct Slot<'a> {
    run: Option<Entry<'a>>,
    signal: Arc<SlotWaker>,
    waker: Waker,
}

struct Entry<'a> {
    seq: u64,
    node: usize,
    run: Running<'a>,
}

/// The run of a graph node.
enum Running<'a> {
    Node(NodeRun<'a>),
    /// The node is an agent that has transferred: the run of the agents it transfers to, and the context of its own
    /// run.
    Transfers(RunHandle, BoxFuture<'a, RunResult>),
}

impl Running<'_> {
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<RunResult> {
        loop {
            let ((node, handle, input), end) = match self {
                Self::Transfers(_, run) => return run.as_mut().poll(cx),
                Self::Node(run) => match ready!(Pin::new(&mut *run).poll(cx)) {
                    Ok(end @ NodeEnd::Done(NodeResult { transfer_to_agent: Some(_), .. })) => (run.take_parts(), end),
                    end => return Poll::Ready(end),
                },
            };
            *self = Self::Transfers(handle.clone(), follow_in_graph(node, handle, input, end));
        }
    }

    fn handle(&self) -> &RunHandle {
        match self {
            Self::Node(run) => run.handle(),
            Self::Transfers(handle, _) => handle,
        }
    }
}

/// The slots that were woken.
#[derive(Default)]
struct Shared {
    woken: Mutex<Vec<usize>>,
    parent: AtomicWaker,
}

/// The waker of one slot, shared by all runs that use the slot.
struct SlotWaker {
    index: usize,
    queued: AtomicBool,
    shared: Arc<Shared>,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.shared.woken.lock().unwrap_or_else(PoisonError::into_inner).push(self.index);
            self.shared.parent.wake();
        }
    }
}

impl<'a> RunSet<'a> {
    /// Returns an empty set. If the orchestrator runs `beside_others`, it is polled after the runs that became ready
    /// together with it.
    pub(crate) fn new(orchestrator: RunHandle, beside_others: bool) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            fresh: VecDeque::new(),
            shared: Arc::default(),
            running: 0,
            finished: Vec::new(),
            polled: Vec::new(),
            yields: beside_others,
            background: BackgroundChildren::of(orchestrator),
        }
    }

    /// Adds a run; the next pass polls it.
    pub(crate) fn push(&mut self, seq: u64, node: usize, run: NodeRun<'a>) {
        let index = self.free.pop().unwrap_or_else(|| self.add_slot());
        self.slots[index].run = Some(Entry { seq, node, run: Running::Node(run) });
        self.fresh.push_back(index);
        self.running += 1;
    }

    fn add_slot(&mut self) -> usize {
        let index = self.slots.len();
        let signal = Arc::new(SlotWaker { index, queued: AtomicBool::new(false), shared: Arc::clone(&self.shared) });
        let waker = Waker::from(Arc::clone(&signal));
        self.slots.push(Slot { run: None, signal, waker });
        index
    }

    /// Returns `true` if nothing runs and no finished run waits to be taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.running == 0 && self.finished.is_empty() && self.background.is_empty()
    }

    /// Takes the error of the first failed background child.
    pub(crate) fn take_background_failure(&mut self) -> Option<NodeError> {
        self.background.take_failure()
    }

    /// Waits until a run ends, the set is empty or `stop` returns `true`, and moves the ended runs to `batch`.
    pub(crate) async fn next_batch(&mut self, batch: &mut Vec<Executed<Finished>>, stop: impl Fn() -> bool) {
        poll_fn(|cx| {
            self.poll_all(cx);
            let over = !self.finished.is_empty() || self.is_empty() || stop();
            if over { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        self.take_finished(batch);
    }

    /// Polls every woken run once, without waiting, and moves the ended runs to `batch`.
    pub(crate) async fn pass(&mut self, batch: &mut Vec<Executed<Finished>>) {
        poll_fn(|cx| if self.poll_all(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
        self.take_finished(batch);
    }

    /// Polls the new runs for the first time, and moves the ended runs to `batch`.
    pub(crate) async fn begin(&mut self, batch: &mut Vec<Executed<Finished>>) {
        poll_fn(|cx| {
            self.shared.parent.register(cx.waker());
            while let Some(index) = self.fresh.pop_front() {
                self.poll_slot(index);
            }
            Poll::Ready(())
        })
        .await;
        self.take_finished(batch);
    }

    /// Moves the ended runs to `batch`. Thousands may end at once, so an empty batch is swapped for them.
    fn take_finished(&mut self, batch: &mut Vec<Executed<Finished>>) {
        if batch.is_empty() {
            std::mem::swap(batch, &mut self.finished);
        } else {
            batch.append(&mut self.finished);
        }
    }

    /// Waits for `other` while the runs make progress.
    pub(crate) async fn drive_while<F: Future + Unpin>(&mut self, mut other: F) -> F::Output {
        poll_fn(|cx| {
            let result = Pin::new(&mut other).poll(cx);
            if result.is_pending() {
                self.poll_all(cx);
            }
            result
        })
        .await
    }

    /// Polls the woken runs, then new background children. Returns `false` if it yields to the executor first.
    fn poll_all(&mut self, cx: &mut TaskContext<'_>) -> bool {
        if !self.background.is_empty() {
            // Runs that spend all of tokio's budget must not starve background children.
            self.background.poll(cx);
        }
        let polled = self.poll_runs(cx);
        self.background.poll(cx);
        polled
    }

    /// Polls the woken runs. Returns `false` if it yields to the executor first.
    fn poll_runs(&mut self, cx: &mut TaskContext<'_>) -> bool {
        self.shared.parent.register(cx.waker());
        if std::mem::take(&mut self.yields) {
            cx.waker().wake_by_ref();
            return false;
        }
        while let Some(index) = self.fresh.pop_front() {
            self.poll_slot(index);
            if !tokio::task::coop::has_budget_remaining() {
                cx.waker().wake_by_ref();
                return true;
            }
        }
        let mut woken = std::mem::take(&mut self.polled);
        std::mem::swap(&mut woken, &mut self.shared.woken.lock().unwrap_or_else(PoisonError::into_inner));
        for (done, &index) in woken.iter().enumerate() {
            self.poll_slot(index);
            if !tokio::task::coop::has_budget_remaining() {
                // The rest stays ahead of the runs that were woken in the meantime.
                let mut queue = self.shared.woken.lock().unwrap_or_else(PoisonError::into_inner);
                queue.splice(0..0, woken[done + 1..].iter().copied());
                drop(queue);
                cx.waker().wake_by_ref();
                break;
            }
        }
        woken.clear();
        self.polled = woken;
        true
    }

    fn poll_slot(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.signal.queued.store(false, Ordering::Release);
        let Some(entry) = slot.run.as_mut() else { return };
        let Poll::Ready(end) = entry.run.poll(&mut TaskContext::from_waker(&slot.waker)) else { return };
        let (seq, node, handle) = (entry.seq, entry.node, entry.run.handle().clone());
        slot.run = None;
        self.finished.push(Executed { order: CompletionOrder::of(&handle), seq, end: Finished { node, handle, end } });
        self.free.push(index);
        self.running -= 1;
    }
}
