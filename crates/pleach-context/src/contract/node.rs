//! What runs: nodes, and what runs the children of a node.

use std::fmt;
use std::sync::Arc;

use pleach_core::{BoxFuture, NodePath};

use super::{AgentSpec, Context, Need};
use crate::engine::NodeEnd;
use crate::scheduler::BackgroundChild;
use crate::{AnswerType, Flow, History, NodeError, NodeInput, NodeSpec, Outline, RunOptions};

/// Runs the dynamic children of contexts. Implemented by the workflow engine; cuts the cycle between the two.
pub trait NodeScheduler: fmt::Debug + Send + Sync + 'static {
    /// Starts a child of `parent`; the run id is fixed by this call, not by the first poll.
    ///
    /// The future fails with the child's failure as [`NodeError::child`], or with what is wrong with the call.
    // R703
    fn run_child<'a>(
        &'a self,
        parent: &'a Context,
        node: &'a dyn Node,
        input: NodeInput,
        options: RunOptions,
    ) -> BoxFuture<'a, Result<NodeEnd, NodeError>>;

    /// Makes a background child of `parent`; this call fixes its path.
    ///
    /// # Errors
    /// An input that does not fit the node.
    fn run_in_background(
        self: Arc<Self>,
        parent: Context,
        node: Arc<dyn Node>,
        input: NodeInput,
        options: RunOptions,
    ) -> Result<BackgroundChild, NodeError>;
}

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
