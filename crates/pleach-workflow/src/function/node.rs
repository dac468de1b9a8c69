//! [`FunctionNode`]: a handler with a name and settings.

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use pleach_context::engine::RunHandle;
use pleach_context::{
    AnswerType, Confirmation, Context, Dynamic, Flow, InputKind, Need, Node, NodeError, NodeFault, NodeInput, NodeKind,
    NodeSpec, RetryConfig, Schema, TypedNode, Yield,
};
use pleach_core::{AuthConfig, BoxFuture, Content, Event};
use serde_json::Value;
use smol_str::SmolStr;

use super::gated::{Gates, Passage};
use super::{Blocking, Handler};

type Call = dyn Fn(&Context, NodeInput) -> BoxFuture<'static, Result<Flow, NodeError>> + Send + Sync;

type Check = dyn Fn(&Context, NodeInput) -> Result<(), NodeError> + Send + Sync;

/// A node made from a handler. Cheap to clone: clones are the same node. ADK: `FunctionNode`.
///
/// # Example
/// ```
/// # use std::time::Duration;
/// # use pleach_context::{Input, RetryConfig};
/// # use pleach_workflow::FunctionNode;
/// async fn shout(Input(text): Input<String>) -> String {
///     text.to_uppercase()
/// }
///
/// let node = FunctionNode::new("shout", shout).timeout(Duration::from_secs(5)).retry(RetryConfig::attempts(3));
/// # drop(node);
/// ```
// R501–R511
pub struct FunctionNode<In, Out> {
    spec: Arc<NodeSpec>,
    needs: Arc<[Need]>,
    call: Arc<Call>,
    check: Arc<Check>,
    gates: Gates,
    /// The type of the answer if the handler returns a question.
    answer: Option<AnswerType>,
    /// The caller's choice of `rerun_on_resume`; a gate turns it on when the caller made no choice.
    rerun: Option<bool>,
    types: PhantomData<fn(In) -> Out>,
}

impl<In, Out> FunctionNode<In, Out> {
    /// Returns a node of this name that runs `handler`.
    pub fn new<H, M>(name: impl Into<SmolStr>, handler: H) -> Self
    where
        H: Handler<M, In = In, Out = Out>,
        In: 'static,
        Out: 'static,
    {
        let mut spec = NodeSpec::new(name).kind(NodeKind::Function);
        spec.takes = InputKind::of::<In>();
        spec.reads.extend(handler.reads());
        spec.always_gives = always_has_output::<Out>();
        spec.never_gives = TypeId::of::<Out>() == TypeId::of::<()>();
        let mut needs = Vec::new();
        handler.needs(&mut needs);
        handler.state_params(&mut spec.state_params);
        spec.routes = handler.routes();
        let answer = handler.answer_type();
        let handler = Arc::new(handler);
        let checked = Arc::clone(&handler);
        Self {
            spec: Arc::new(spec),
            needs: needs.into(),
            call: Arc::new(move |ctx: &Context, input| handler.call(ctx, input)),
            check: Arc::new(move |ctx: &Context, input| checked.check(ctx, input)),
            gates: Gates::default(),
            answer,
            rerun: None,
            types: PhantomData,
        }
    }

    /// Returns a node with this name that runs a plain function on tokio's pool for blocking work. The function takes
    /// the same parameters and returns the same results as a handler.
    ///
    /// One task polls all nodes of an invocation, so a handler that blocks its thread holds up all of them. A
    /// time-out or an abort does not stop a function that has begun, but its result is lost.
    ///
    /// ```
    /// # use pleach_context::Input;
    /// # use pleach_workflow::FunctionNode;
    /// let read = FunctionNode::blocking("read", |Input(path): Input<String>| std::fs::read_to_string(path));
    /// # drop(read);
    /// ```
    pub fn blocking<F, M>(name: impl Into<SmolStr>, function: F) -> Self
    where
        Blocking<F>: Handler<M, In = In, Out = Out>,
        In: 'static,
        Out: 'static,
    {
        Self::new(name, Blocking::new(function))
    }

    fn set(mut self, change: impl FnOnce(&mut NodeSpec)) -> Self {
        change(Arc::make_mut(&mut self.spec));
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        self.set(|spec| spec.description = text.into())
    }

    /// Sets whether an answer runs the node again from its start. Nodes that run other nodes, or ask in the middle of
    /// their body, need this. Otherwise the answer becomes the node's output.
    #[must_use]
    pub fn rerun_on_resume(mut self, rerun: bool) -> Self {
        self.rerun = Some(rerun);
        self.apply_gates()
    }

    /// Asks a person to approve every call before the body runs. Turns `rerun_on_resume` on; building the
    /// workflow fails if the node switches it off.
    // R510
    #[must_use]
    pub fn require_confirmation(self) -> Self {
        self.confirm_if(|_, _| true).set(|spec| spec.confirmation = Confirmation::Always)
    }

    /// Asks a person to approve the calls for which `condition` is true. See [`FunctionNode::require_confirmation`].
    #[must_use]
    pub fn confirm_if(mut self, condition: impl Fn(&Context, &NodeInput) -> bool + Send + Sync + 'static) -> Self {
        self.gates.confirm = Some(Arc::new(condition));
        self.apply_gates().set(|spec| spec.confirmation = Confirmation::Conditional)
    }

    /// Asks the client for the credential of `config` before the body runs, unless one is available; the body reads
    /// it with [`get_auth_response`](Context::get_auth_response). Turns `rerun_on_resume` on; building the workflow
    /// fails if the node switches it off.
    // R511
    #[must_use]
    pub fn auth_config(mut self, config: AuthConfig) -> Self {
        self.gates.auth = Some(Arc::new(config));
        self.apply_gates()
    }

    fn apply_gates(self) -> Self {
        let rerun = self.rerun;
        let gates = [
            ("require_confirmation", "confirmation_needs_rerun", self.gates.confirm.is_some()),
            ("auth_config", "auth_needs_rerun", self.gates.auth.is_some()),
        ];
        self.set(|spec| {
            spec.faults.retain(|fault| gates.iter().all(|(_, rule, _)| fault.rule != *rule));
            spec.rerun_on_resume = rerun.unwrap_or(gates.iter().any(|(.., gated)| *gated));
            for (gate, rule, _) in gates.into_iter().filter(|(.., gated)| *gated && rerun == Some(false)) {
                let message = format!(
                    "FunctionNode '{}' with {gate} requires rerun_on_resume=True. Leave `.rerun_on_resume(false)` out.",
                    spec.name
                );
                spec.faults.push(NodeFault { rule, message });
            }
        })
    }

    async fn run_gated(&self, run: RunHandle, input: NodeInput) -> Result<Flow, NodeError> {
        (self.check)(&run, input.clone())?;
        let resumed = match self.gates.pass(&self.spec, &run, &input)? {
            Passage::Closed(instead) => return Ok(Flow::Done(Some(instead))),
            Passage::Open { resumed } => resumed,
        };
        match (self.call)(&run, input).await? {
            // Without an event a replay would not see the call.
            Flow::Done(None | Some(Yield::Output(Value::Null))) if resumed && !run.has_sent() => {
                Ok(Flow::Done(Some(Yield::from(Event::new()))))
            }
            flow => Ok(flow),
        }
    }

    /// Sets whether the node waits for another trigger if a run has neither an output nor a route. If so, a run that
    /// was interrupted before its output runs again on a resume.
    // R307
    #[must_use]
    pub fn wait_for_output(self, wait: bool) -> Self {
        self.set(|spec| spec.wait_for_output = wait)
    }

    /// Sets the retry policy.
    #[must_use]
    pub fn retry(self, policy: RetryConfig) -> Self {
        self.set(|spec| spec.retry = Some(policy))
    }

    /// Sets the time limit of one attempt.
    #[must_use]
    pub fn timeout(self, limit: Duration) -> Self {
        self.set(|spec| spec.timeout = Some(limit))
    }

    /// Sets the schema of the input.
    #[must_use]
    pub fn input_schema(self, schema: Schema) -> Self {
        self.set(|spec| spec.input_schema = Some(schema))
    }

    /// Sets the schema of the output.
    #[must_use]
    pub fn output_schema(self, schema: Schema) -> Self {
        self.set(|spec| spec.output_schema = Some(schema))
    }

    /// Sets the schema of the session state for this node.
    #[must_use]
    pub fn state_schema(self, schema: Schema) -> Self {
        self.set(|spec| spec.state_schema = Some(schema))
    }

    /// Declares state keys that the node reads, in addition to the keys of its `FromState` parameters.
    // R164
    #[must_use]
    pub fn state_params<S: Into<SmolStr>>(self, keys: impl IntoIterator<Item = S>) -> Self {
        self.set(|spec| spec.state_params.extend(keys.into_iter().map(Into::into)))
    }
}

/// Returns `true` if every completed run of a handler with this result type has an output.
///
/// A run may complete without an output if its type can be null. For an unlisted type a wrong answer only means that an
/// interrupted run is treated as incomplete, so testing the name of `Option` is enough.
fn always_has_output<Out: 'static>() -> bool {
    let may_be_null = [
        TypeId::of::<()>(),
        TypeId::of::<Value>(),
        TypeId::of::<Dynamic>(),
        TypeId::of::<Event>(),
        TypeId::of::<Content>(),
    ];
    !may_be_null.contains(&TypeId::of::<Out>()) && !type_name::<Out>().starts_with("core::option::Option<")
}

impl<In: 'static, Out: 'static> Node for FunctionNode<In, Out> {
    fn spec(&self) -> &NodeSpec {
        &self.spec
    }

    fn run<'a>(&'a self, ctx: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
        if self.gates.is_empty() {
            (self.call)(&ctx, input)
        } else {
            Box::pin(self.run_gated(RunHandle::of(ctx), input))
        }
    }

    fn answer_type(&self, path: &[&str]) -> Option<AnswerType> {
        // A node that runs again may also ask for something else in the middle of its body.
        self.answer.filter(|_| path.is_empty() && !self.spec.rerun_on_resume)
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        needs.extend_from_slice(&self.needs);
    }
}

impl<In: 'static, Out: 'static> TypedNode for FunctionNode<In, Out> {
    type In = In;
    type Out = Out;
}

impl<In, Out> Clone for FunctionNode<In, Out> {
    fn clone(&self) -> Self {
        Self {
            spec: Arc::clone(&self.spec),
            needs: Arc::clone(&self.needs),
            call: Arc::clone(&self.call),
            check: Arc::clone(&self.check),
            gates: self.gates.clone(),
            answer: self.answer,
            rerun: self.rerun,
            types: PhantomData,
        }
    }
}

impl<In, Out> fmt::Debug for FunctionNode<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionNode").field("name", &self.spec.name).finish_non_exhaustive()
    }
}
