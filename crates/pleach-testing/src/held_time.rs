//! [`HeldTime`]: keeps tokio's paused time from advancing by itself.

use std::sync::mpsc::{Sender, channel};

/// Until it is dropped, a tokio runtime whose time is paused does not advance it.
///
/// A paused runtime advances its time whenever all of its tasks wait, also for a database or another program: time-outs strike then
/// that would not in a real hour. This guard is for such waits. [`ResumeProperty`](crate::ResumeProperty) has it around its store, and
/// [`FaultPlan::holds_time`](crate::FaultPlan::holds_time) puts it around any.
///
/// ```
/// use pleach_testing::HeldTime;
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
    /// Begins now.
    ///
    /// # Panics
    /// Without a tokio runtime.
    #[expect(clippy::new_without_default, reason = "a default that panics without a runtime would surprise")]
    pub fn new() -> Self {
        let (held, dropped) = channel();
        // The runtime does not advance its time while it has blocking work.
        drop(tokio::task::spawn_blocking(move || dropped.recv().is_err()));
        Self { _held: held }
    }
}
