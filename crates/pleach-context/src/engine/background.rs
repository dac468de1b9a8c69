//! Background children, which the enclosing workflow runs in parallel with its nodes.
// R643

use super::{BackgroundChild, RunHandle};
use crate::NodeError;

/// Returns the error of a question that a background child asks.
#[must_use]
pub fn asked_in_background() -> NodeError {
    let message = "A dynamic node started with `run_in_background` asked for input, but a background child cannot be resumed. Wait for it with `Context::run`.";
    NodeError::new("RuntimeError", message)
}

impl RunHandle {
    /// Makes this workflow run accept background children until [`refuse_background`](Self::refuse_background). From
    /// now on it also records which of its children begin to be executed, for [`take_executing`](Self::take_executing).
    /// Call it once.
    pub fn accept_background(&self) {
        self.ctx.run_state().workflow = Some(Box::default());
    }

    /// Makes this run refuse further background children.
    pub fn refuse_background(&self) {
        let left = self.ctx.run_state().workflow.take();
        // The children hold contexts, so they are dropped after the lock is released.
        drop(left);
    }

    /// Returns `true` if a run of the invocation has ever started a background child. The check takes no lock,
    /// because most invocations have no background children.
    #[must_use]
    pub fn may_have_background(&self) -> bool {
        self.ctx.invocation().has_background()
    }

    /// Takes the background children that have arrived since the last call.
    #[must_use]
    pub fn take_background(&self) -> Vec<BackgroundChild> {
        self.ctx.run_state().workflow.as_mut().map(|part| std::mem::take(&mut part.background)).unwrap_or_default()
    }
}
