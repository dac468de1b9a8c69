//! The node of a step. Its body asks the caller to run the closure.

use pleach_core::{BoxFuture, Event};
use tokio::sync::{mpsc, oneshot};
use tracing::Span;

use super::Step;
use super::attempt::Attempt;
use crate::engine::mark_completed;
use crate::{Context, Flow, Node, NodeError, NodeInput, NodeSpec, Yield};

/// The node of a step. The closure stays with the caller, so it can borrow: nodes are `'static`.
pub(super) struct StepBody {
    spec: NodeSpec,
    attempts: mpsc::UnboundedSender<Attempt>,
}

impl StepBody {
    pub(super) fn new(step: Step) -> (Self, mpsc::UnboundedReceiver<Attempt>) {
        let (attempts, receiver) = mpsc::unbounded_channel();
        let mut spec = NodeSpec::new(step.name);
        (spec.retry, spec.timeout) = (step.retry, step.timeout);
        (Self { spec, attempts }, receiver)
    }
}

impl Node for StepBody {
    fn spec(&self) -> &NodeSpec {
        &self.spec
    }

    fn run<'a>(&'a self, ctx: Context, _: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
        Box::pin(async move {
            check_session(&ctx).await?;
            let (reply, result) = oneshot::channel();
            let gone = || NodeError::new("RuntimeError", format!("the caller of step '{}' is gone", self.spec.name));
            let attempt = Attempt { ctx: ctx.clone(), span: Span::current(), reply };
            self.attempts.send(attempt).map_err(|_| gone())?;
            match result.await.map_err(|_| gone())? {
                Ok(result) => Ok(recorded(&ctx, result?)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

/// Waits until the Runner has confirmed that the run still has its session. An agent that is called as a tool runs in
/// its caller's session.
async fn check_session(ctx: &Context) -> Result<(), NodeError> {
    let stored = std::iter::successors(Some(ctx.invocation()), |ic| ic.caller()).last();
    match stored {
        Some(stored) => stored.fence.check().await,
        None => Ok(()),
    }
}

/// Returns the outcome of a step. A step always stores an event: if its result is null, the event marks the run as
/// completed.
fn recorded(ctx: &Context, result: serde_json::Value) -> Flow {
    if !result.is_null() {
        return Flow::output(result);
    }
    let mut event = Event::new();
    mark_completed(&mut event, std::slice::from_ref(ctx.node_path()));
    Flow::Done(Some(Yield::Unchecked(Box::new(event))))
}
