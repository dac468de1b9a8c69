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

use std::sync::Arc;

use pleach_core::{BoxFuture, NodePath};
use pleach_schema::AnswerType;

use crate::{AgentSpec, Context, History, Need, NodeError};

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
#[doc(alias = "BaseNode")]
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

    /// Returns the declaration of the node that the names on `path` lead to: this node's for an empty `path`. `None` for nodes
    /// that are only known at run time.
    fn spec_at(&self, path: &[&str]) -> Option<&NodeSpec> {
        path.is_empty().then(|| self.spec())
    }

    /// Returns the node of this name directly inside this one: a node of a graph, or a sub-agent. `None` for nodes that are only
    /// known at run time.
    fn child(&self, _name: &str) -> Option<&dyn Node> {
        None
    }

    /// Adds what the node needs of its app: the values (see [`Shared`](crate::Shared)) that it cannot run without, and the toolsets
    /// to be closed with it.
    fn needs(&self, _needs: &mut Vec<Need>) {}

    /// Returns whether the stored events of the run of `ctx` say that it has completed, so that a resume need not run it. Only
    /// asked of agents, which decide from their own events what they do next.
    fn has_completed(&self, _ctx: &Context) -> bool {
        false
    }

    /// Returns what the runtime knows of the node as an agent; `None` for a node that is none.
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
