//! [`NodeScheduler`]: runs dynamic children. Also [`RunOptions`] and [`BackgroundChild`].

use std::fmt;
use std::sync::Arc;

use pleach_core::{BoxFuture, NodePath};
use smol_str::SmolStr;

use crate::engine::RunHandle;
use crate::node_end::NodeEnd;
use crate::{Node, NodeError, NodeInput};

/// Runs the dynamic children of contexts. The workflow engine implements it, which breaks the cycle between the two
/// crates.
pub trait NodeScheduler: fmt::Debug + Send + Sync + 'static {
    /// Starts a child of `parent`; the run id is fixed by this call, not by the first poll.
    ///
    /// The future fails with the child's failure as [`NodeError::child`], or with an error of the call itself.
    // R703
    fn run_child<'a>(
        &'a self,
        parent: RunHandle,
        node: &'a dyn Node,
        input: NodeInput,
        options: RunOptions,
    ) -> BoxFuture<'a, Result<NodeEnd, NodeError>>;

    /// Makes a background child of `parent`. This call fixes the child's path.
    ///
    /// # Errors
    /// An input that does not fit the node.
    fn run_in_background(
        self: Arc<Self>,
        parent: RunHandle,
        node: Arc<dyn Node>,
        input: NodeInput,
        options: RunOptions,
    ) -> Result<BackgroundChild, NodeError>;
}

/// The options for running a dynamic child. ADK: the arguments of `Context.run_node`.
// R701
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunOptions {
    /// The name of the child in its path, instead of the node's name.
    pub name: Option<SmolStr>,
    /// The run id of the child: any text that is not all digits. Asking again for the same id returns the same run.
    pub run_id: Option<SmolStr>,
    /// Whether the child's output is also the caller's output.
    // R706
    pub use_as_output: bool,
    /// Whether the child runs on a sub-branch of its own.
    pub use_sub_branch: bool,
    /// The branch to run on instead of the caller's. An empty string is the root.
    pub override_branch: Option<String>,
    /// The isolation scope instead of the caller's.
    pub override_isolation_scope: Option<String>,
    /// Whether the caller also pauses if the child waits without output. Otherwise the call returns null.
    pub raise_on_wait: bool,
}

impl RunOptions {
    /// Sets the child's name in its path.
    #[must_use]
    pub fn name(mut self, name: impl Into<SmolStr>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the id of the run. If it is empty, the runtime chooses one.
    #[must_use]
    pub fn run_id(mut self, id: impl Into<SmolStr>) -> Self {
        self.run_id = Some(id.into()).filter(|id| !id.is_empty());
        self
    }

    /// Makes the child's output also the caller's output.
    #[must_use]
    pub fn use_as_output(mut self, yes: bool) -> Self {
        self.use_as_output = yes;
        self
    }

    /// Runs the child on a sub-branch of its own.
    #[must_use]
    pub fn use_sub_branch(mut self, yes: bool) -> Self {
        self.use_sub_branch = yes;
        self
    }

    /// Runs the child on this branch.
    #[must_use]
    pub fn override_branch(mut self, branch: impl Into<String>) -> Self {
        self.override_branch = Some(branch.into());
        self
    }

    /// Runs the child in this isolation scope.
    #[must_use]
    pub fn override_isolation_scope(mut self, scope: impl Into<String>) -> Self {
        self.override_isolation_scope = Some(scope.into());
        self
    }

    /// Pauses the caller when the child waits without output.
    #[must_use]
    pub fn raise_on_wait(mut self, yes: bool) -> Self {
        self.raise_on_wait = yes;
        self
    }
}

/// A background child that the workflow is about to run.
pub struct BackgroundChild {
    /// The path of its run.
    pub path: NodePath,
    /// The run itself.
    pub run: BoxFuture<'static, Result<NodeEnd, NodeError>>,
}

impl fmt::Debug for BackgroundChild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundChild").field("path", &self.path).finish_non_exhaustive()
    }
}
