//! Background children: the enclosing workflow runs them beside its nodes.
// R643

use std::fmt;

use pleach_core::{BoxFuture, NodePath};

use super::{NodeEnd, RunHandle};
use crate::NodeError;

/// A background child, on its way to the workflow that runs it.
pub struct BackgroundChild {
    /// The path of its run.
    pub path: NodePath,
    /// The run itself.
    pub run: BoxFuture<'static, Result<NodeEnd, NodeError>>,
}

impl fmt::Debug for BackgroundChild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DetachedChild").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Returns the error of a question that a background child asks.
#[must_use]
pub fn asked_in_background() -> NodeError {
    let message = "A dynamic node started with `run_detached` asked for input, but a background child cannot be resumed. Wait for it with `Context::run`.";
    NodeError::new("RuntimeError", message)
}

impl RunHandle<'_> {
    /// Makes this run, a workflow's, accept background children.
    pub fn accept_background(self) {
        self.0.cell().background = Some(Vec::new());
    }

    /// Makes this run refuse further background children.
    pub fn refuse_background(self) {
        let left = self.0.cell().background.take();
        // They hold contexts, so they go when the lock is free.
        drop(left);
    }

    /// Takes the background children that have arrived since the last call.
    #[must_use]
    pub fn take_background(self) -> Vec<BackgroundChild> {
        if !self.0.invocation().has_background() {
            return Vec::new();
        }
        self.0.cell().background.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
