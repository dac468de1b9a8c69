//! Background children: the workflow around goes on with them beside its nodes.
// R643

use std::fmt;

use pleach_core::{BoxFuture, NodePath};

use super::{NodeEnd, RunHandle};
use crate::NodeError;

/// A child that nobody waits for, on its way to the workflow that goes on with it. For engines.
pub struct DetachedChild {
    /// The path of its run.
    pub path: NodePath,
    /// The run itself.
    pub run: BoxFuture<'static, Result<NodeEnd, NodeError>>,
}

impl fmt::Debug for DetachedChild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DetachedChild").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What a question of a run that nobody waits for fails with. For engines.
#[must_use]
pub fn asked_detached() -> NodeError {
    let message = "A dynamic node started with `run_detached` asked for input, but a detached node cannot be resumed. Wait for it with `Context::run`.";
    NodeError::new("RuntimeError", message)
}

impl RunHandle<'_> {
    /// Says that this run, a workflow's, takes the children that nobody waits for.
    pub fn accept_detached(self) {
        self.0.cell().detached = Some(Vec::new());
    }

    /// Says that this run takes no more of them.
    pub fn refuse_detached(self) {
        let left = self.0.cell().detached.take();
        // They hold contexts, so they go when the lock is free.
        drop(left);
    }

    /// The children that nobody waits for that have come since this was last asked.
    #[must_use]
    pub fn take_detached(self) -> Vec<DetachedChild> {
        if !self.0.invocation().has_detached() {
            return Vec::new();
        }
        self.0.cell().detached.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
