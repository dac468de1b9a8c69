//! [`Recorder`]: the spans of a process, shared by the layer, the plugin and the routes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_core::Clock;

use super::spans::Spans;

/// The spans of a process, and the clock for their times. Clones share the same spans.
#[derive(Clone)]
pub(super) struct Recorder {
    spans: Arc<Mutex<Spans>>,
    clock: Arc<dyn Clock>,
}

impl Recorder {
    pub(super) fn new(spans: Spans, clock: Arc<dyn Clock>) -> Self {
        Self { spans: Arc::new(Mutex::new(spans)), clock }
    }

    pub(super) fn set_clock(&mut self, clock: Arc<dyn Clock>) {
        self.clock = clock;
    }

    /// Returns the time, in seconds since the epoch.
    pub(super) fn now(&self) -> f64 {
        self.clock.now()
    }

    pub(super) fn spans(&self) -> MutexGuard<'_, Spans> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
