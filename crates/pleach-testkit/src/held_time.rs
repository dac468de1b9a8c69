//! [`HeldTime`]: stops tokio's paused time from advancing by itself.

use std::sync::mpsc::{Sender, channel};

/// A guard that stops a tokio runtime from advancing its paused time until the guard is dropped.
///
/// A paused runtime advances its time whenever all of its tasks wait, even for a database or another program. Timeouts
/// then occur that would not occur in a real hour. Use this guard during such waits.
/// [`ResumeProperty`](crate::ResumeProperty) uses it for calls to its store, and
/// [`FaultPlan::holds_time`](crate::FaultPlan::holds_time) for calls to any store.
///
/// ```
/// use pleach_testkit::HeldTime;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// // In a test with `start_paused = true`:
/// let held = HeldTime::new();
/// // … open a database
/// drop(held);
/// # }
/// ```
#[derive(Debug)]
#[must_use = "time is held until the guard is dropped"]
pub struct HeldTime {
    _held: Sender<()>,
}

impl HeldTime {
    /// Holds the time from now on.
    ///
    /// # Panics
    /// Panics outside a tokio runtime.
    #[expect(clippy::new_without_default, reason = "a default that panics without a runtime would surprise")]
    pub fn new() -> Self {
        let (held, dropped) = channel();
        // The runtime does not advance its time while it has blocking work.
        drop(tokio::task::spawn_blocking(move || dropped.recv().is_err()));
        Self { _held: held }
    }
}
