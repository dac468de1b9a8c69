//! Runs the closure of a step for its node.

use std::panic::AssertUnwindSafe;
use std::pin::pin;

use futures_util::FutureExt as _;
use pleach_core::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tracing::Instrument as _;

use super::attempt::Attempt;
use crate::{Context, NodeError, NodeInput, Result};

tokio::task_local! {
    /// The context of the step whose closure is polled.
    pub(in crate::context) static CURRENT: Context;
}

/// Drives the run of a step, and runs its closure for each attempt of the run.
pub(super) async fn perform<T, W>(
    mut run: BoxFuture<'_, std::result::Result<NodeInput, NodeError>>,
    mut attempts: UnboundedReceiver<Attempt>,
    mut work: impl FnMut() -> W,
) -> std::result::Result<NodeInput, NodeError>
where
    T: Serialize,
    W: Future<Output = Result<T>>,
{
    loop {
        let attempt = tokio::select! {
            biased;
            end = &mut run => return end,
            Some(attempt) = attempts.recv() => attempt,
        };
        let Attempt { ctx, span, mut reply } = attempt;
        // The closure is called inside the future, so that anything it does before returning its own future belongs to
        // the step.
        let guarded = AssertUnwindSafe(async { work().await }).catch_unwind();
        let mut done = pin!(CURRENT.scope(ctx, guarded).instrument(span));
        tokio::select! {
            biased;
            end = &mut run => return end,
            // The attempt has timed out.
            () = reply.closed() => {}
            result = &mut done => drop(reply.send(result.map(json))),
        }
    }
}

/// Converts the result of a closure into the JSON value that is stored.
fn json<T: Serialize>(result: Result<T>) -> std::result::Result<Value, NodeError> {
    let value = result.map_err(crate::Fail::into_node_error)?;
    let mut value = pleach_core::to_json(value)
        .map_err(|error| NodeError::validation(format!("the result of a step has no JSON form: {error}")))?;
    // The closure has done its work, so its result must not be lost because of a character that no store accepts.
    pleach_core::replace_nul(&mut value);
    Ok(value)
}
