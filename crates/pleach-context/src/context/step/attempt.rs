//! [`Attempt`]: asks the caller of a step to run the closure.

use std::any::Any;

use serde_json::Value;
use tokio::sync::oneshot;
use tracing::Span;

use crate::{Context, NodeError};

/// An attempt for which the caller runs the closure.
pub(super) struct Attempt {
    /// The context of the step.
    pub(super) ctx: Context,
    pub(super) span: Span,
    /// The channel for the result. It is closed if the attempt has been cancelled.
    pub(super) reply: oneshot::Sender<Ended>,
}

/// How a closure ended: with a result, or with a panic.
pub(super) type Ended = std::result::Result<std::result::Result<Value, NodeError>, Box<dyn Any + Send>>;
