//! [`FunctionNode`]: a handler with a name and settings.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use pleach_context::{
    Context, Flow, Need, Node, NodeError, NodeInput, NodeKind, NodeSpec, RetryConfig, Schema, TypedNode,
};
use pleach_core::BoxFuture;
use smol_str::SmolStr;

use super::Handler;

type Call = dyn Fn(&Context, NodeInput) -> BoxFuture<'static, Result<Flow, NodeError>> + Send + Sync;

/// A node made from a handler. Cheap to clone: clones are the same node. ADK: `FunctionNode`; rules R501–R511.
pub struct FunctionNode<In, Out> {
    spec: Arc<NodeSpec>,
    needs: Arc<[Need]>,
    call: Arc<Call>,
    types: PhantomData<fn(In) -> Out>,
}

impl<In, Out> FunctionNode<In, Out> {
    /// A node of this name that runs `handler`.
    pub fn new<H, M>(name: impl Into<SmolStr>, handler: H) -> Self
    where
        H: Handler<M, In = In, Out = Out>,
    {
        let mut spec = NodeSpec::new(name).kind(NodeKind::Function);
        let mut needs = Vec::new();
        handler.needs(&mut needs);
        handler.state_params(&mut spec.state_params);
        let call = Arc::new(move |ctx: &Context, input| handler.call(ctx, input));
        Self { spec: Arc::new(spec), needs: needs.into(), call, types: PhantomData }
    }

    fn set(mut self, change: impl FnOnce(&mut NodeSpec)) -> Self {
        change(Arc::make_mut(&mut self.spec));
        self
    }

    /// Sets what the node is for.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        self.set(|spec| spec.description = text.into())
    }

    /// Sets whether an answered question runs the node again from its start; nodes that run other nodes or ask in the
    /// middle need it. Otherwise the answer is the node's output.
    #[must_use]
    pub fn rerun_on_resume(self, rerun: bool) -> Self {
        self.set(|spec| spec.rerun_on_resume = rerun)
    }

    /// Sets whether a run without output and route leaves the node waiting for another trigger (R307).
    #[must_use]
    pub fn wait_for_output(self, wait: bool) -> Self {
        self.set(|spec| spec.wait_for_output = wait)
    }

    /// Sets when a failed attempt is tried again.
    #[must_use]
    pub fn retry(self, policy: RetryConfig) -> Self {
        self.set(|spec| spec.retry = Some(policy))
    }

    /// Limits how long one attempt may take.
    #[must_use]
    pub fn timeout(self, limit: Duration) -> Self {
        self.set(|spec| spec.timeout = Some(limit))
    }

    /// Sets the shape of the input.
    #[must_use]
    pub fn input_schema(self, schema: Schema) -> Self {
        self.set(|spec| spec.input_schema = Some(schema))
    }

    /// Sets the shape of the output.
    #[must_use]
    pub fn output_schema(self, schema: Schema) -> Self {
        self.set(|spec| spec.output_schema = Some(schema))
    }

    /// Sets the shape of the session state for this node.
    #[must_use]
    pub fn state_schema(self, schema: Schema) -> Self {
        self.set(|spec| spec.state_schema = Some(schema))
    }

    /// Declares state keys that the node reads, beside those of its `FromState` parameters (R164).
    #[must_use]
    pub fn state_params<S: Into<SmolStr>>(self, keys: impl IntoIterator<Item = S>) -> Self {
        self.set(|spec| spec.state_params.extend(keys.into_iter().map(Into::into)))
    }
}

impl<In: 'static, Out: 'static> Node for FunctionNode<In, Out> {
    fn spec(&self) -> &NodeSpec {
        &self.spec
    }

    fn run<'a>(&'a self, ctx: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
        (self.call)(&ctx, input)
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
            types: PhantomData,
        }
    }
}

impl<In, Out> fmt::Debug for FunctionNode<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionNode").field("name", &self.spec.name).finish_non_exhaustive()
    }
}
