//! What a node is: the [`Node`] trait, its [`NodeSpec`], and what goes in and comes out of a run.

mod flow;
mod input;
mod outline;
mod spec;
mod typed;

pub use flow::{Flow, Yield};
pub use input::NodeInput;
pub use outline::{EdgeOutline, GraphOutline, Outline};
pub(crate) use spec::name_fault;
pub use spec::{InputKind, NodeFault, NodeKind, NodeSpec};
pub use typed::{Decode, Dynamic, Typed, TypedNode, Untyped};

use pleach_core::{BoxFuture, NodePath};
use pleach_schema::AnswerType;

use crate::{Context, History, NodeError};

/// One unit of work in a graph, or the root of a run.
///
/// The engine makes a [`Context`] for every run, calls [`run`](Node::run), and turns what comes back into events.
/// A node never stores anything itself: it returns its result, or emits with [`Context::emit`] before it.
///
/// # Example
/// A handler is a node by `FunctionNode`. A node of its own type:
/// ```
/// # use pleach_context::{Context, Flow, Node, NodeError, NodeInput, NodeSpec};
/// # use pleach_core::BoxFuture;
/// struct Double {
///     spec: NodeSpec,
/// }
///
/// impl Node for Double {
///     fn spec(&self) -> &NodeSpec {
///         &self.spec
///     }
///
///     fn run<'a>(&'a self, _: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
///         Box::pin(async move { Ok(Flow::output((input.parse::<i64>()? * 2).into())) })
///     }
/// }
///
/// let double = Double { spec: NodeSpec::new("double") };
/// assert_eq!(double.spec().name, "double");
/// ```
///
/// ADK: `BaseNode`.
// R301–R308
pub trait Node: Send + Sync + 'static {
    /// The declared properties of the node; the same on every call.
    fn spec(&self) -> &NodeSpec;

    /// Runs the node once. Dropping the future cancels the run.
    ///
    /// # Errors
    /// What the node failed with; the engine writes the error event and decides about a retry.
    fn run<'a>(&'a self, ctx: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>>;

    /// What the node is made of, down to the nodes inside.
    fn outline(&self) -> Outline {
        Outline::of(self.spec())
    }

    /// Checks that this node can resume from a history: it cannot when it was built differently before the run at `path` paused.
    /// Called before any part of a resumed invocation runs.
    ///
    /// # Errors
    /// What no longer fits, by name.
    fn fits(&self, _path: &NodePath, _history: &History) -> Result<(), NodeError> {
        Ok(())
    }

    /// Returns the type of the answers to the questions that a node asks: of this node for an empty `path`, else of the node
    /// inside that the names on `path` lead to. `None` when it is only known at run time, or not at all.
    fn answer_type(&self, _path: &[&str]) -> Option<AnswerType> {
        None
    }

    /// Adds the app-provided values (see [`Shared`](crate::Shared)) that the node cannot run without.
    fn needs(&self, _needs: &mut Vec<crate::Need>) {}
}

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

    fn needs(&self, needs: &mut Vec<crate::Need>) {
        (**self).needs(needs);
    }
}
