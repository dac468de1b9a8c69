//! [`RunTask`]: a run and its readers.
//!
//! The reader that asks for the next event polls the run. Its events are queued for the other readers, so a run makes
//! progress while any reader polls it, and is cancelled when the last one leaves.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context as TaskContext, Poll, Wake, Waker};

use pleach_core::Event;

use crate::RunError;
use crate::run::state::RunState;

/// An event that a run yields.
#[derive(Clone, Debug)]
pub(crate) struct Yielded {
    pub(crate) event: Arc<Event>,
    /// Whether it is the user's message, which is yielded only on request.
    pub(crate) is_message: bool,
}

impl Yielded {
    pub(crate) fn event(event: Arc<Event>) -> Self {
        Self { event, is_message: false }
    }

    pub(crate) fn message(event: Arc<Event>) -> Self {
        Self { event, is_message: true }
    }
}

pub(crate) type Item = Result<Yielded, RunError>;

/// Polls a run. Implemented by the driver.
pub(crate) trait PollRun: Send {
    /// Registers the run as active, unless it has begun.
    ///
    /// # Errors
    /// [`RunError::Draining`].
    fn enter(&mut self) -> Result<(), RunError>;

    /// Asks models for fragments, if the run has not begun.
    fn stream(&mut self);

    /// Polls the run. It is pending if it has yielded an event ([`RunState::yield_event`]) or if it waits. Not called again after the end.
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), RunError>>;
}

/// The number of events that are queued for a reader or follower. If more arrive, a reader misses fragments, and a follower reads the
/// events from the store.
pub(crate) const BACKLOG: usize = 256;

/// Holds the driver of a run between two polls, and the queues of its readers.
pub(crate) struct RunTask {
    state: Arc<RunState>,
    inner: Mutex<Inner>,
}

struct Inner {
    driving: Driving,
    /// The complete events so far, for callers that join.
    shown: Vec<Yielded>,
    readers: Vec<Reader>,
    /// The id of the next reader.
    next: u32,
}

enum Driving {
    /// No reader polls the driver at the moment.
    Idle(Box<dyn PollRun>),
    /// A reader polls the driver.
    Polled,
    /// The run has ended, or its last reader has left.
    Over,
}

struct Reader {
    id: u32,
    queue: VecDeque<Item>,
    waker: Option<Waker>,
}

impl Inner {
    fn add(&mut self, queue: VecDeque<Item>) -> u32 {
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        self.readers.push(Reader { id, queue, waker: None });
        id
    }

    fn wait(&mut self, reader: u32, waker: &Waker) {
        let Some(own) = self.readers.iter_mut().find(|other| other.id == reader) else { return };
        match &mut own.waker {
            Some(known) => known.clone_from(waker),
            None => own.waker = Some(waker.clone()),
        }
    }

    fn take_wakers(&mut self) -> Vec<Waker> {
        self.readers.iter_mut().filter_map(|reader| reader.waker.take()).collect()
    }

    /// Queues an item for all readers except `by`; returns the wakers to wake. A reader whose queue is full misses fragments.
    fn share(&mut self, by: u32, is_fragment: bool, item: impl Fn() -> Item) -> Vec<Waker> {
        let others = self.readers.iter_mut().filter(|reader| reader.id != by);
        let in_time = others.filter(|reader| !is_fragment || reader.queue.len() < BACKLOG);
        in_time.for_each(|reader| reader.queue.push_back(item()));
        self.take_wakers()
    }

    /// Takes the driver for a poll, unless another reader polls it or the run is over.
    fn take_driver(&mut self) -> Option<Box<dyn PollRun>> {
        match std::mem::replace(&mut self.driving, Driving::Polled) {
            Driving::Idle(driver) => Some(driver),
            other => {
                self.driving = other;
                None
            }
        }
    }

    /// Puts the driver back after a poll, unless the run is over.
    fn put_back(&mut self, driver: &mut Option<Box<dyn PollRun>>) {
        if !self.is_over()
            && let Some(driver) = driver.take()
        {
            self.driving = Driving::Idle(driver);
        }
    }

    /// Marks the run as over, so that no reader can join it. Returns the driver, which must be dropped without the lock.
    fn close(&mut self) -> Driving {
        self.shown = Vec::new();
        std::mem::replace(&mut self.driving, Driving::Over)
    }

    fn is_over(&self) -> bool {
        matches!(self.driving, Driving::Over)
    }
}

impl RunTask {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // No user code runs while the lock is held.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the task of a new run, and the id of its first reader.
    pub(crate) fn new(state: &Arc<RunState>, driver: impl PollRun + 'static) -> (Arc<Self>, u32) {
        let mut inner =
            Inner { driving: Driving::Idle(Box::new(driver)), shown: Vec::new(), readers: Vec::new(), next: 0 };
        let reader = inner.add(VecDeque::new());
        let task = Arc::new(Self { state: Arc::clone(state), inner: Mutex::new(inner) });
        state.set_task(&task);
        (task, reader)
    }

    /// Adds a reader, which receives all complete events from the beginning. Returns `None` if the run is over.
    pub(crate) fn join(&self) -> Option<u32> {
        let mut inner = self.inner();
        if inner.is_over() {
            return None;
        }
        let queue = inner.shown.iter().cloned().map(Ok).collect();
        Some(inner.add(queue))
    }

    /// Returns `true` if the run has more than one reader.
    pub(crate) fn is_shared(&self) -> bool {
        self.inner().readers.len() > 1
    }

    /// Registers the run as active, unless it has begun.
    pub(crate) fn enter(&self) -> Result<(), RunError> {
        let Some(mut driver) = self.inner().take_driver() else { return Ok(()) };
        let entered = driver.enter();
        let mut inner = self.inner();
        inner.driving = match &entered {
            Ok(()) => Driving::Idle(driver),
            Err(_) => Driving::Over,
        };
        let wakers = inner.take_wakers();
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
        entered
    }

    /// Asks models for fragments, if the run has not begun.
    pub(crate) fn stream(&self) {
        if let Driving::Idle(driver) = &mut self.inner().driving {
            driver.stream();
        }
    }

    /// Removes a reader. Removing the last one drops the run.
    pub(crate) fn leave(&self, reader: u32) {
        let mut inner = self.inner();
        inner.readers.retain(|other| other.id != reader);
        let dropped = if inner.readers.is_empty() { Some(inner.close()) } else { None };
        // The run may hold only the waker of the reader that has left.
        let wakers = inner.take_wakers();
        drop(inner);
        drop(dropped);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl RunTask {
    /// Polls the next event for a reader. The reader polls the run itself unless another one is polling it.
    pub(crate) fn poll_next(self: &Arc<Self>, reader: u32, cx: &mut TaskContext<'_>) -> Poll<Option<Item>> {
        let mut inner = self.inner();
        let alone = inner.readers.len() == 1;
        let Some(own) = inner.readers.iter_mut().find(|other| other.id == reader) else { return Poll::Ready(None) };
        if let Some(item) = own.queue.pop_front() {
            return Poll::Ready(Some(item));
        }
        if inner.is_over() {
            return Poll::Ready(None);
        }
        let driver = inner.take_driver();
        if !alone || driver.is_none() {
            inner.wait(reader, cx.waker());
        }
        drop(inner);
        let Some(driver) = driver else { return Poll::Pending };
        let mut poll = ActivePoll { task: self, reader, driver: Some(driver) };
        let polled = if alone {
            poll.poll(cx)
        } else {
            let waker = Waker::from(Arc::new(WakeAll(Arc::downgrade(self))));
            poll.poll(&mut TaskContext::from_waker(&waker))
        };
        poll.end(alone, polled, cx.waker())
    }
}

/// One poll of a run by a reader.
struct ActivePoll<'a> {
    task: &'a Arc<RunTask>,
    reader: u32,
    driver: Option<Box<dyn PollRun>>,
}

impl ActivePoll<'_> {
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), RunError>> {
        self.driver.as_mut().map_or(Poll::Ready(Ok(())), |driver| driver.poll(cx))
    }

    /// Puts the driver back unless the run has ended. Returns the item that the run has yielded, and queues it for the other readers.
    fn end(mut self, alone: bool, polled: Poll<Result<(), RunError>>, waker: &Waker) -> Poll<Option<Item>> {
        let item = match polled {
            Poll::Ready(ended) => Poll::Ready(ended.err().map(Err)),
            Poll::Pending => self.task.state.take_yielded().map_or(Poll::Pending, |shown| Poll::Ready(Some(Ok(shown)))),
        };
        // If the run is over, the driver is dropped after the lock.
        let mut driver = self.driver.take();
        let mut inner = self.task.inner();
        let wakers = match &item {
            Poll::Pending => {
                inner.put_back(&mut driver);
                if alone {
                    // Once another reader joins and polls, the run no longer holds this reader's waker.
                    inner.wait(self.reader, waker);
                }
                // The run does not hold the waker of a reader that has joined in the meantime.
                if alone && inner.readers.len() > 1 { inner.take_wakers() } else { Vec::new() }
            }
            Poll::Ready(Some(Ok(shown))) => {
                inner.put_back(&mut driver);
                let is_fragment = shown.event.is_partial();
                if !is_fragment {
                    inner.shown.push(shown.clone());
                }
                match inner.readers.len() {
                    1 => Vec::new(),
                    _ => inner.share(self.reader, is_fragment, || Ok(shown.clone())),
                }
            }
            Poll::Ready(Some(Err(error))) => {
                inner.close();
                inner.share(self.reader, false, || Err(error.shared()))
            }
            Poll::Ready(None) => {
                inner.close();
                inner.take_wakers()
            }
        };
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
        item
    }
}

impl Drop for ActivePoll<'_> {
    /// A panic in the run ends the run for all readers.
    fn drop(&mut self) {
        let Some(driver) = self.driver.take() else { return };
        let mut inner = self.task.inner();
        let invocation = inner.shown.first().map(|shown| shown.event.invocation_id().clone());
        inner.close();
        let wakers = inner.share(self.reader, false, || Err(RunError::Cut { invocation: invocation.clone() }));
        drop(inner);
        drop(driver);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// Wakes all readers of a run.
struct WakeAll(Weak<RunTask>);

impl Wake for WakeAll {
    fn wake(self: Arc<Self>) {
        let Some(task) = self.0.upgrade() else { return };
        let wakers = task.inner().take_wakers();
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::RunRequest;

    /// Yields events of these authors, then an error if there is one, then the end. Counts drops.
    struct Script {
        state: Arc<RunState>,
        authors: VecDeque<&'static str>,
        error: Option<RunError>,
        drops: Arc<AtomicUsize>,
    }

    impl PollRun for Script {
        fn enter(&mut self) -> Result<(), RunError> {
            Ok(())
        }

        fn stream(&mut self) {}

        fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), RunError>> {
            let Some(author) = self.authors.pop_front() else {
                return Poll::Ready(self.error.take().map_or(Ok(()), Err));
            };
            if author != "pending" {
                let event = Event::from_author(author).with_partial(author == "fragment");
                assert!(pin!(self.state.yield_event(Yielded::event(Arc::new(event)))).poll(cx).is_pending());
            }
            Poll::Pending
        }
    }

    impl Drop for Script {
        fn drop(&mut self) {
            self.drops.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn run(authors: &[&'static str], error: Option<RunError>) -> (Arc<RunTask>, u32, Arc<AtomicUsize>) {
        let state = Arc::new(RunState::new(&RunRequest::new(("ana", "s1")), false));
        let drops = Arc::new(AtomicUsize::new(0));
        let authors = authors.iter().copied().collect();
        let script = Script { state: Arc::clone(&state), authors, error, drops: Arc::clone(&drops) };
        let (task, reader) = RunTask::new(&state, script);
        (task, reader, drops)
    }

    /// Returns what a reader receives until it has to wait.
    fn read(task: &Arc<RunTask>, reader: u32) -> String {
        let mut cx = TaskContext::from_waker(Waker::noop());
        let mut read = Vec::new();
        loop {
            match task.poll_next(reader, &mut cx) {
                Poll::Ready(Some(Ok(shown))) => read.push(shown.event.author().to_owned()),
                Poll::Ready(Some(Err(error))) => read.push(error.code().to_owned()),
                Poll::Ready(None) => {
                    read.push("end".to_owned());
                    break;
                }
                Poll::Pending => break,
            }
        }
        read.join(" ")
    }

    #[test]
    fn every_reader_gets_every_complete_event_whoever_polls() {
        let (task, first, drops) = run(&["a", "fragment", "pending", "b", "fragment", "pending", "c"], None);
        assert_eq!(read(&task, first), "a fragment");
        let second = task.join().unwrap();
        assert_eq!(read(&task, second), "a b fragment", "the fragment before it joined is missing");
        assert_eq!(read(&task, first), "b fragment c end");
        assert_eq!(read(&task, second), "c end");
        assert!(task.join().is_none(), "a run that is over cannot be joined");
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn an_error_reaches_all_readers_and_ends_the_run() {
        let (task, first, _) = run(&["a"], Some(RunError::Draining));
        let second = task.join().unwrap();
        assert_eq!(read(&task, first), "a RunnerDrainingError end");
        assert_eq!(read(&task, second), "a RunnerDrainingError end");
    }

    #[test]
    fn the_last_reader_that_leaves_drops_the_run() {
        let (task, first, drops) = run(&["a", "b"], None);
        let second = task.join().unwrap();
        task.leave(first);
        assert_eq!(drops.load(Ordering::Relaxed), 0);
        task.leave(second);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert!(task.join().is_none());
    }
}
