//! The [`Node`] trait, its [`NodeSpec`], and the inputs and results of runs.

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

use std::sync::Arc;

use pleach_core::{BoxFuture, NodePath};
use pleach_schema::AnswerType;

use crate::{AgentSpec, Context, History, Need, NodeError};

/// One unit of work in a graph, or the root of a run.
///
/// The engine makes a [`Context`] for every run, calls [`run`](Node::run), and turns the result into events. A node
/// never stores anything itself: it returns its result, and emits earlier events with [`Context::emit`].
///
/// # Example
/// `FunctionNode` makes a node from a handler. This is a node with a type of its own:
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
#[doc(alias = "BaseNode")]
pub trait Node: Send + Sync + 'static {
    /// Returns the declared properties of the node. They are the same on every call.
    fn spec(&self) -> &NodeSpec;

    /// Runs the node once. Dropping the future cancels the run.
    ///
    /// # Errors
    /// The failure of the node. The engine writes the error event and decides about a retry.
    fn run<'a>(&'a self, ctx: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>>;

    /// Returns the structure of the node, including the nodes inside it.
    fn outline(&self) -> Outline {
        Outline::of(self.spec())
    }

    /// Checks that this node can resume from a history. It cannot if it was built differently when the run at `path`
    /// paused. This is called before any part of a resumed invocation runs.
    ///
    /// # Errors
    /// An error that names the part that no longer fits.
    fn fits(&self, _path: &NodePath, _history: &History) -> Result<(), NodeError> {
        Ok(())
    }

    /// Returns the type of the answers to a node's questions. If `path` is empty, that node is this one; otherwise it
    /// is the node inside this one that the names on `path` lead to. `None` if the type is known only at run time, or
    /// not at all.
    fn answer_type(&self, _path: &[&str]) -> Option<AnswerType> {
        None
    }

    /// Returns the declaration of the node that the names on `path` lead to, or of this node if `path` is empty. `None`
    /// for nodes that are known only at run time.
    fn spec_at(&self, path: &[&str]) -> Option<&NodeSpec> {
        path.is_empty().then(|| self.spec())
    }

    /// Returns the node with this name directly inside this one: a node of a graph, or a sub-agent. `None` for nodes
    /// that are known only at run time.
    fn child(&self, _name: &str) -> Option<&dyn Node> {
        None
    }

    /// Adds the node's needs: the values (see [`Shared`](crate::Shared)) that it cannot run without, and the toolsets
    /// to close with the app.
    fn needs(&self, _needs: &mut Vec<Need>) {}

    /// Returns true if the stored events show that the run of `ctx` has completed. A resume then need not run it. It
    /// is called only for agents, which decide from their own events what they do next.
    fn has_completed(&self, _ctx: &Context) -> bool {
        false
    }

    /// Returns the agent's specification; `None` if the node is not an agent.
    fn agent(&self) -> Option<&Arc<AgentSpec>> {
        None
    }
}

impl<N: Node + ?Sized> Node for Arc<N> {
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
