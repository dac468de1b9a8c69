//! [`CrashPoint`]: the point at which a process ends. [`CrashGate`]: ends the process there.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_core::{BoxFuture, EventId};
use pleach_session::SessionResult;
use tokio::sync::watch;

use crate::gate::{Call, Gate, Pass};
use crate::held_time::HeldTime;
use crate::{Effects, Operation, TraceEntry};

/// The point at which a process is cut off: one of the writes of the run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CrashPoint {
    /// The number of the write within the run, from 1.
    pub write: usize,
    /// The operation of the write.
    pub operation: Operation,
    /// The event, if the write is an append.
    pub event: Option<TraceEntry>,
    /// Whether the process ends before or after the write.
    pub time: CrashTime,
}

/// The time at which a process ends, relative to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CrashTime {
    /// Before the write: nothing is stored.
    Before,
    /// The write is stored, but its caller does not learn of it.
    Unseen,
    /// The write is stored, and its caller has learned of it.
    After,
}

impl fmt::Display for CrashPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = match self.time {
            CrashTime::Before => "before it is stored",
            CrashTime::Unseen => "when it is stored and its caller does not know",
            CrashTime::After => "when it is stored and handed out",
        };
        write!(f, "in write {}, {}", self.write, self.operation)?;
        if let Some(event) = &self.event {
            write!(f, " of `{event}`")?;
        }
        write!(f, ", {time}")
    }
}

/// A write of a run.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) operation: Operation,
    pub(super) event: Option<TraceEntry>,
}

impl Write {
    /// A summary without values: author, path and kinds of change. Equal for two runs that do the same.
    pub(super) fn shape(&self) -> String {
        let Some(event) = &self.event else { return self.operation.to_string() };
        let kinds: Vec<&str> = event.does.iter().filter_map(|does| does.split(' ').next()).collect();
        format!("{} of {} ({}): {}", self.operation, event.path, event.author, kinds.join("; "))
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.operation)?;
        self.event.as_ref().map_or(Ok(()), |event| write!(f, " of `{event}`"))
    }
}

/// The writes of all processes of a case.
#[derive(Debug, Default)]
pub(super) struct Written {
    lists: Mutex<Lists>,
    effects: Effects,
}

#[derive(Debug, Default)]
struct Lists {
    writes: Vec<Write>,
    /// The events that the store has acknowledged, with their texts.
    stored: Vec<(EventId, String)>,
}

impl Written {
    pub(super) fn new(effects: Effects) -> Self {
        Self { lists: Mutex::default(), effects }
    }

    pub(super) fn writes(&self) -> Vec<Write> {
        self.lists().writes.clone()
    }

    pub(super) fn stored(&self) -> Vec<(EventId, String)> {
        self.lists().stored.clone()
    }

    /// Counts a write, and returns its number, from 1.
    fn begin(&self, call: &Call<'_>) -> usize {
        let event = call.append.map(|(_, event)| TraceEntry::of_one(event));
        let mut lists = self.lists();
        lists.writes.push(Write { operation: call.operation, event });
        lists.writes.len()
    }

    fn done(&self, call: &Call<'_>) {
        if let Some((key, event)) = call.append {
            self.lists().stored.push((event.id().clone(), TraceEntry::of_one(event).to_string()));
            self.effects.confirm(key, event);
        }
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The gate of a process. Once the process is gone, it lets no call through.
#[derive(Debug)]
pub(super) struct CrashGate {
    written: Arc<Written>,
    point: Option<(usize, CrashTime)>,
    gone: watch::Sender<bool>,
    /// Whether the store runs in other threads or programs.
    is_outside: bool,
}

impl CrashGate {
    pub(super) fn new(written: &Arc<Written>, point: Option<(usize, CrashTime)>, is_outside: bool) -> Self {
        Self { written: Arc::clone(written), point, gone: watch::channel(false).0, is_outside }
    }

    /// Ends the process.
    pub(super) fn end(&self) {
        self.gone.send_replace(true);
    }

    pub(super) fn is_gone(&self) -> bool {
        *self.gone.borrow()
    }

    /// Completes when the process is gone.
    pub(super) async fn gone(&self) {
        // This cannot fail, because the sender is in `self`.
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    fn ends(&self, number: usize, time: CrashTime) -> bool {
        let ends = self.point == Some((number, time));
        if ends {
            self.end();
        }
        ends
    }
}

impl Gate for CrashGate {
    fn enter<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, SessionResult<Pass>> {
        Box::pin(async move {
            let number = if call.operation.writes() && !self.is_gone() { self.written.begin(&call) } else { 0 };
            if self.is_gone() || self.ends(number, CrashTime::Before) {
                // A process that is gone never gets the result.
                std::future::pending::<()>().await;
            }
            let hold = self.is_outside.then(HeldTime::new);
            Ok(Pass::Made(number, hold))
        })
    }

    fn leave<'a>(&'a self, call: Call<'a>, number: usize, succeeded: bool) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if succeeded {
                self.written.done(&call);
            }
            if self.is_gone() || self.ends(number, CrashTime::Unseen) {
                std::future::pending::<()>().await;
            }
            self.ends(number, CrashTime::After);
        })
    }

    fn calls(&self, _: Operation) -> usize {
        0
    }

    fn faults(&self) -> usize {
        usize::from(self.is_gone())
    }
}
