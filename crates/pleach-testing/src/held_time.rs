//! [`HeldTime`]: keeps tokio's paused time from advancing by itself.

use std::sync::mpsc::{Sender, channel};

/// Until it is dropped, a runtime whose time is paused does not advance it: what happens in another thread or program takes no time.
#[derive(Debug)]
pub(crate) struct HeldTime {
    _held: Sender<()>,
}

impl HeldTime {
    /// Begins now. Needs a tokio runtime.
    pub(crate) fn new() -> Self {
        let (held, dropped) = channel();
        // The runtime does not advance its time while it has blocking work.
        drop(tokio::task::spawn_blocking(move || dropped.recv().is_err()));
        Self { _held: held }
    }
}
