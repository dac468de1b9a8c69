//! [`JoinNode`]: a node that waits for all its predecessors.

use pleach_context::{Context, Dynamic, Flow, Node, NodeError, NodeInput, NodeKind, NodeSpec, Schema, TypedNode};
use pleach_core::BoxFuture;
use smol_str::SmolStr;

/// Waits for all its predecessors and returns a map of their outputs by name, with null for a predecessor without
/// output.
///
/// The keys are sorted. ADK: `JoinNode`.
// R628
#[derive(Clone, Debug)]
pub struct JoinNode {
    spec: NodeSpec,
}

impl JoinNode {
    /// Returns a join with this name.
    pub fn new(name: impl Into<SmolStr>) -> Self {
        Self { spec: NodeSpec::new(name).kind(NodeKind::Join) }
    }

    /// Sets the schema of every joined value.
    #[must_use]
    pub fn input_schema(mut self, schema: Schema) -> Self {
        self.spec.input_schema = Some(schema);
        self
    }
}

impl Node for JoinNode {
    fn spec(&self) -> &NodeSpec {
        &self.spec
    }

    fn run<'a>(&'a self, _: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
        Box::pin(std::future::ready(Ok(Flow::output(input.into_value()))))
    }
}

impl TypedNode for JoinNode {
    type In = Dynamic;
    type Out = Dynamic;
}
