//! [`Context::step`]: a closure as a recorded child.

mod attempt;
mod body;
mod options;
mod perform;

use std::sync::Arc;

use pleach_schema::coerce;
use serde::Serialize;
use serde::de::DeserializeOwned;
use smol_str::{SmolStr, format_smolstr};

use self::body::StepBody;
pub use self::options::Step;
pub(super) use self::perform::CURRENT;
use self::perform::perform;
use super::Context;
use crate::node::name_fault;
use crate::{Node as _, NodeError, NodeInput, NodeKind, Result, RunOptions};

impl Context {
    /// Runs a closure as a recorded child of this run. Its result is stored once: a resume or a retry of this run gets
    /// the stored result, and does not run the closure again.
    ///
    /// The closure can borrow from its surroundings, but not mutably, and it is called once for each attempt. It must
    /// clone the values that it needs to own, as in `|| { let order = order.clone(); async move { … } }`. It can fail
    /// with any error via `?`. The step then fails like a child that [`run`](Self::run) runs, after the attempts that
    /// [`Step::retry`] allows. A panic is a failure as well.
    ///
    /// The event of the result has the path of this run, followed by the name of the step and a run id. The run id is
    /// `step-1` for the first step with this name in an attempt, `step-2` for the second, and `key-KEY` for a step
    /// with a [key](Step::key). In a tool call of an agent, it ends with `~` and the key of the call.
    ///
    /// A step needs a key if its number could change on a resume: if it begins while another call of the node is in
    /// progress, or in a callback of an agent.
    ///
    /// The closure runs at least once. If the process crashes after the closure has ended and before its result is
    /// stored, the closure runs again. Pass [`idempotency_key`](Self::idempotency_key) to the service that it calls;
    /// within the closure, this is the key of the step.
    ///
    /// A step only computes a value. It must not change the run, because a resume does not repeat the change. In the
    /// closure, writing state, running nodes, asking questions and starting other steps fail with a `RuntimeError`.
    /// Return the value, and use it after the step.
    ///
    /// # Example
    /// ```
    /// # use std::time::Duration;
    /// # use pleach_context::{Context, Input, NodeError, Result, RetryConfig, Step};
    /// # async fn pay(_cents: i64, _key: String) -> std::io::Result<String> { Ok("r-1".to_owned()) }
    /// // Added with `FunctionNode::new("order", order).rerun_on_resume(true)`.
    /// async fn order(ctx: Context, Input(cents): Input<i64>) -> Result<String> {
    ///     let charge = Step::new("charge").retry(RetryConfig::attempts(3)).timeout(Duration::from_secs(10));
    ///     let receipt: String = ctx.step(charge, async || Ok(pay(cents, ctx.idempotency_key()).await?)).await?;
    ///     ctx.state().set("receipt", &receipt)?;
    ///     Ok(receipt)
    /// }
    /// ```
    ///
    /// # Errors
    /// The errors of [`run`](Self::run):
    /// - A `ValueError` if this node has no `rerun_on_resume`, if a name or key cannot be part of a path, or if a key
    ///   is missing.
    /// - A `DynamicNodeFailError` if the closure has failed.
    /// - A `ValidationError` if the result has no JSON form, or if the stored result is not a `T`.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the closure.
    ///
    /// ADK: a function node that `ctx.run_node` runs.
    pub fn step<T, W>(
        &self,
        step: impl Into<Step>,
        work: impl FnMut() -> W + Send,
    ) -> impl Future<Output = std::result::Result<T, NodeError>> + Send
    where
        T: Serialize + DeserializeOwned,
        W: Future<Output = Result<T>> + Send,
    {
        let step = step.into();
        // The run id follows the order of the calls, not of the polls.
        let id = self.step_id(&step);
        async move {
            let (body, attempts) = StepBody::new(step);
            let options = RunOptions::default().run_id(id?);
            let run = self.run_node(&body, NodeInput::Null, options);
            let result = perform(run, attempts, work).await?;
            coerce(&result.to_value()).map_err(|error| {
                NodeError::validation(format!("the result of step '{}' does not fit: {error}", body.spec().name))
            })
        }
    }

    /// Returns the run id of a step that begins now.
    fn step_id(&self, step: &Step) -> std::result::Result<SmolStr, NodeError> {
        self.check_outside_step("starts another step: start it after this one")?;
        if let Some(fault) = name_fault(&step.name) {
            return Err(NodeError::value(format!("a step: {}", fault.message)));
        }
        let mut cell = self.cell();
        let call = cell.lane.tool.as_ref().map(|tool| tool.key.clone()).filter(|key| !key.is_empty());
        let own = match &step.key {
            Some(key) => format_smolstr!("key-{key}"),
            None => {
                let is_callback = self.inner.kind == NodeKind::Agent && call.is_none();
                if is_callback || cell.has_calls_under_way() {
                    return Err(needs_key(&step.name, self.node_name(), is_callback));
                }
                let counters = match &mut cell.lane.tool {
                    Some(tool) if call.is_some() => &mut tool.steps,
                    _ => cell.steps.get_or_insert_default(),
                };
                let count = counters.entry(step.name.clone()).or_default();
                *count += 1;
                format_smolstr!("step-{count}")
            }
        };
        Ok(call.map_or_else(|| own.clone(), |call| format_smolstr!("{own}~{call}")))
    }

    /// Fails if the closure of one of this run's steps makes this call. The error says what the step `does`.
    pub(crate) fn check_outside_step(&self, does: &str) -> std::result::Result<(), NodeError> {
        match self.current_step() {
            None => Ok(()),
            Some(step) => {
                let text = format!("step '{}' of node '{}' {does}", step.node_name(), self.node_name());
                Err(NodeError::new("RuntimeError", text))
            }
        }
    }

    /// Returns the context of the step whose closure makes this call, if it is a step of this run.
    pub(super) fn current_step(&self) -> Option<Context> {
        let is_own =
            |step: &Context| step.inner.parent.as_ref().is_some_and(|parent| Arc::ptr_eq(&parent.inner, &self.inner));
        CURRENT.try_with(|step| is_own(step).then(|| step.clone())).ok().flatten()
    }
}

/// Returns the error for a step without a key whose number may change when the body runs again.
fn needs_key(step: &str, node: &str, is_callback: bool) -> NodeError {
    let what = match is_callback {
        true => "in a callback, which a resume does not repeat",
        false => "while another call of the node is in progress, and the two may begin in another order on a resume",
    };
    NodeError::value(format!("step '{step}' of node '{node}' begins {what}: give it a key with `Step::key`"))
}
