//! [`Seat`]: the stream of a run, and the callers that read it together.
//!
//! A stream is driven by whoever asks for its next event. What one reader drives out is queued for the others, so a run
//! continues as long as one of its readers asks, and is cancelled when the last one leaves.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context as TaskContext, Poll, Wake, Waker};

use pleach_core::Event;

use crate::RunError;

/// An event that the stream of a run gives.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) event: Arc<Event>,
    /// Whether it is the user's message, which only those see who ask for it.
    pub(crate) is_message: bool,
}

impl Shown {
    pub(crate) fn event(event: Arc<Event>) -> Self {
        Self { event, is_message: false }
    }

    pub(crate) fn message(event: Arc<Event>) -> Self {
        Self { event, is_message: true }
    }
}

pub(crate) type Item = Result<Shown, RunError>;

/// What a run is driven by.
pub(crate) trait PollRun: Send {
    /// Takes the run in among those that are under way, if it has not begun.
    ///
    /// # Errors
    /// [`RunError::Draining`].
    fn enter(&mut self) -> Result<(), RunError>;

    /// Polls for the next event. It is not polled again after an error or the end.
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<Item>>;
}

/// How many events a reader or follower may be behind before it misses fragments, or has to read the store again.
pub(crate) const BACKLOG: usize = 256;

/// Holds the driver of a run between two polls, and what its readers have not read yet.
#[derive(Default)]
pub(crate) struct Seat {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// `None` while a reader polls it, and at the end.
    driver: Option<Box<dyn PollRun>>,
    over: bool,
    /// The complete events so far, for those who join.
    shown: Vec<Shown>,
    readers: Vec<Reader>,
    /// The id of the next reader.
    next: u32,
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

    /// Queues what one reader has driven out for the others; returns whom to wake. A reader that is far behind misses
    /// fragments.
    fn share(&mut self, by: u32, is_fragment: bool, item: impl Fn() -> Item) -> Vec<Waker> {
        let others = self.readers.iter_mut().filter(|reader| reader.id != by);
        let in_time = others.filter(|reader| !is_fragment || reader.queue.len() < BACKLOG);
        in_time.for_each(|reader| reader.queue.push_back(item()));
        self.take_wakers()
    }

    /// The run is over, and cannot be joined any more.
    fn close(&mut self) {
        self.over = true;
        self.shown = Vec::new();
    }
}

impl Seat {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // No user code runs while it is held.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the driver of a new run; returns its first reader.
    pub(crate) fn open(&self, driver: impl PollRun + 'static) -> u32 {
        let mut inner = self.inner();
        inner.driver = Some(Box::new(driver));
        inner.add(VecDeque::new())
    }

    /// A further reader, who gets all complete events from the beginning; `None` when the run is over.
    pub(crate) fn join(&self) -> Option<u32> {
        let mut inner = self.inner();
        if inner.over {
            return None;
        }
        let queue = inner.shown.iter().cloned().map(Ok).collect();
        Some(inner.add(queue))
    }

    /// Whether others read the run, too.
    pub(crate) fn is_shared(&self) -> bool {
        self.inner().readers.len() > 1
    }

    /// Takes the run in among those that are under way, if it has not begun.
    pub(crate) fn enter(&self) -> Result<(), RunError> {
        let Some(mut driver) = self.inner().driver.take() else { return Ok(()) };
        let entered = driver.enter();
        let mut inner = self.inner();
        match &entered {
            Ok(()) => inner.driver = Some(driver),
            Err(_) => inner.close(),
        }
        let wakers = inner.take_wakers();
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
        entered
    }

    /// A reader goes away; the last one takes the run with it.
    pub(crate) fn leave(&self, reader: u32) {
        let mut inner = self.inner();
        inner.readers.retain(|other| other.id != reader);
        let driver = if inner.readers.is_empty() {
            inner.close();
            inner.driver.take()
        } else {
            None
        };
        // The stream may know no other waker than that of the reader who has left.
        let wakers = inner.take_wakers();
        drop(inner);
        drop(driver);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Seat {
    /// The next event for a reader, who drives the run unless another one is just doing that.
    pub(crate) fn poll_next(self: &Arc<Self>, reader: u32, cx: &mut TaskContext<'_>) -> Poll<Option<Item>> {
        let mut inner = self.inner();
        let alone = inner.readers.len() == 1;
        let driver = inner.driver.take();
        let (over, known) = (inner.over, inner.readers.iter_mut().find(|other| other.id == reader));
        let Some(own) = known else {
            inner.driver = driver;
            return Poll::Ready(None);
        };
        if let Some(item) = own.queue.pop_front() {
            inner.driver = driver;
            return Poll::Ready(Some(item));
        }
        if over {
            return Poll::Ready(None);
        }
        if !alone || driver.is_none() {
            own.waker = Some(cx.waker().clone());
        }
        drop(inner);
        let Some(driver) = driver else { return Poll::Pending };
        let mut poll = ActivePoll { seat: self, reader, driver: Some(driver) };
        let polled = if alone {
            poll.poll(cx)
        } else {
            let waker = Waker::from(Arc::new(WakeAll(Arc::downgrade(self))));
            poll.poll(&mut TaskContext::from_waker(&waker))
        };
        poll.end(alone, &polled, cx.waker());
        polled
    }
}

/// One poll of a run.
struct ActivePoll<'a> {
    seat: &'a Arc<Seat>,
    reader: u32,
    driver: Option<Box<dyn PollRun>>,
}

impl ActivePoll<'_> {
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<Item>> {
        self.driver.as_mut().map_or(Poll::Ready(None), |driver| driver.poll(cx))
    }

    /// Puts the driver back, unless the run has ended, and gives the others what they have to know.
    fn end(mut self, alone: bool, polled: &Poll<Option<Item>>, waker: &Waker) {
        let driver = self.driver.take();
        let mut inner = self.seat.inner();
        let wakers = match polled {
            Poll::Pending => {
                inner.driver = driver;
                if alone {
                    // The stream will know the waker of one who joins, but no more this one.
                    inner.wait(self.reader, waker);
                }
                // Whoever has joined meanwhile is not known to the stream.
                if alone && inner.readers.len() > 1 { inner.take_wakers() } else { Vec::new() }
            }
            Poll::Ready(Some(Ok(shown))) => {
                inner.driver = driver;
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
    }
}

impl Drop for ActivePoll<'_> {
    /// A panic in the stream ends the run for all.
    fn drop(&mut self) {
        let Some(driver) = self.driver.take() else { return };
        let mut inner = self.seat.inner();
        inner.close();
        let wakers = inner.share(self.reader, false, || Err(RunError::Aborted));
        drop(inner);
        drop(driver);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// Wakes all readers of a run.
struct WakeAll(Weak<Seat>);

impl Wake for WakeAll {
    fn wake(self: Arc<Self>) {
        let Some(seat) = self.0.upgrade() else { return };
        let wakers = seat.inner().take_wakers();
        wakers.into_iter().for_each(Waker::wake);
    }
}
