//! What a node is: the [`Node`] trait, its [`NodeSpec`], and what goes in and comes out of a run.

mod dynamic;
mod flow;
mod input;
mod outline;
mod reads;
mod spec;
mod typed;

pub use dynamic::Dynamic;
pub use flow::{Flow, Yield};
pub use input::NodeInput;
pub use outline::{EdgeOutline, GraphOutline, Outline};
pub use reads::InputReader;
pub(crate) use spec::name_fault;
pub use spec::{Confirmation, InputKind, NodeFault, NodeKind, NodeSpec};
pub use typed::{Decode, Typed, TypedNode, Untyped};

use pleach_core::{BoxFuture, NodePath};
use pleach_schema::AnswerType;

use crate::{AgentSpec, Context, History, Node, NodeError};

impl<N: Node + ?Sized> Node for std::sync::Arc<N> {
    fn spec(&self) -> &NodeSpec {
        (**self).spec()
    }

    fn run<'a>(&'a self, ctx: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
        (**self).run(ctx, input)
    }

    fn outline(&self) -> Outline {
        (**self).outline()
    }

    fn fits(&self, path: &NodePath, history: &History) -> Result<(), NodeError> {
        (**self).fits(path, history)
    }

    fn answer_type(&self, path: &[&str]) -> Option<AnswerType> {
        (**self).answer_type(path)
    }

    fn spec_at(&self, path: &[&str]) -> Option<&NodeSpec> {
        (**self).spec_at(path)
    }

    fn child(&self, name: &str) -> Option<&dyn Node> {
        (**self).child(name)
    }

    fn needs(&self, needs: &mut Vec<crate::Need>) {
        (**self).needs(needs);
    }

    fn has_completed(&self, ctx: &Context) -> bool {
        (**self).has_completed(ctx)
    }

    fn agent(&self) -> Option<&std::sync::Arc<AgentSpec>> {
        (**self).agent()
    }
}
