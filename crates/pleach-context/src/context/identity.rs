//! The identity of the run: its path, name, attempt, predecessors, author, branch and invocation.

use std::sync::Arc;

use pleach_core::{Branch, Content, NodePath};
use smol_str::SmolStr;

use super::Context;
use crate::engine::{GraphNames, GraphPosition, RunState};
use crate::{InvocationContext, NodeKind, RunConfig};

impl Context {
    /// Returns the context that all runs of the invocation share.
    #[must_use]
    pub fn invocation(&self) -> &Arc<InvocationContext> {
        &self.inner.invocation.ic
    }

    /// Returns true if the strings of this run come from models or tools. A character that no store accepts is
    /// replaced in them, because the model or tool has already done its work. In the values of other nodes such a
    /// character is an error that names the key.
    pub(crate) fn speaks_for_others(&self) -> bool {
        matches!(self.inner.kind, NodeKind::Agent | NodeKind::Tool)
    }

    /// The path of the run, such as `triage@1/answer@2`.
    #[must_use]
    pub fn node_path(&self) -> &NodePath {
        &self.inner.path
    }

    /// The name of the node that runs.
    #[must_use]
    pub fn node_name(&self) -> &str {
        &self.inner.name
    }

    /// The id of the run among the runs of the same node: the text after `@` in the path.
    #[must_use]
    pub fn run_id(&self) -> &str {
        self.inner.path.run_id()
    }

    /// The run id by its older name.
    #[must_use]
    pub fn execution_id(&self) -> &str {
        self.run_id()
    }

    /// The number of the attempt, starting at 1.
    #[must_use]
    pub fn attempt_count(&self) -> u32 {
        self.inner.attempt
    }

    /// The number of retries so far: 0 on the first attempt.
    #[must_use]
    pub fn retry_count(&self) -> u32 {
        self.inner.attempt - 1
    }

    /// The predecessor whose completion triggered the run; `__START__` for the first nodes, empty for dynamic and root
    /// runs.
    #[must_use]
    pub fn triggered_by(&self) -> &str {
        match (self.inner.position, self.names()) {
            (Some(GraphPosition { by: Some(by), .. }), Some(names)) => {
                names.nodes.get(by as usize).map_or("", SmolStr::as_str)
            }
            (Some(GraphPosition { by: None, .. }), _) => "__START__",
            _ => "",
        }
    }

    /// The names of all predecessors in the graph; empty for dynamic and root runs.
    #[must_use]
    pub fn in_nodes(&self) -> &[SmolStr] {
        let place = self.inner.position;
        let known = place.zip(self.names()).and_then(|(place, names)| names.predecessors.get(place.node as usize));
        known.map(Vec::as_slice).unwrap_or_default()
    }

    fn names(&self) -> Option<&GraphNames> {
        self.inner.parent.as_ref()?.inner.graph.get().map(|names| &**names)
    }

    /// The id that all events of the invocation carry.
    #[must_use]
    pub fn invocation_id(&self) -> &str {
        self.inner.invocation.invocation_id().as_str()
    }

    /// The id of the user that the session belongs to.
    #[must_use]
    pub fn user_id(&self) -> &str {
        self.inner.invocation.user_id().as_str()
    }

    /// The message that started the invocation, including on a resume. Inside a task that an agent delegated, it is the
    /// task.
    #[must_use]
    pub fn user_content(&self) -> Option<&Content> {
        self.task().or_else(|| self.inner.invocation.user_content())
    }

    /// The name of the running agent. Outside an agent it is the root agent's name, or `unknown` if the root is not an
    /// agent.
    #[must_use]
    pub fn agent_name(&self) -> &str {
        let of_lane = self.lane.as_ref().and_then(|own| own.author.as_deref());
        let of_run = || (self.inner.kind == NodeKind::Agent).then_some(&*self.inner.name);
        of_lane.or_else(of_run).unwrap_or_else(|| self.inner.invocation.agent_name())
    }

    /// The settings of the invocation.
    #[must_use]
    pub fn run_config(&self) -> &RunConfig {
        self.inner.invocation.run_config()
    }

    /// Returns true if the invocation was asked to stop.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.inner.invocation.is_aborted()
    }

    /// The author that events of this run carry.
    // R205
    #[must_use]
    pub fn event_author(&self) -> SmolStr {
        self.author_in(&self.cell())
    }

    pub(crate) fn author_in(&self, cell: &RunState) -> SmolStr {
        match &cell.lane.author {
            Some(author) if author.is_empty() => self.inner.name.clone(),
            Some(author) => author.clone(),
            None => self.inner.author.clone(),
        }
    }

    /// Sets the author of later events of this run and of the runs that it starts from now on. A workflow
    /// among these runs keeps its own name as author. An empty `author` means the name of the running node.
    ///
    /// ADK: `Context.event_author`
    pub fn set_event_author(&self, author: impl Into<SmolStr>) {
        self.cell().lane.author = Some(author.into());
    }

    /// The branch of the run; `None` is the root branch.
    #[must_use]
    pub fn branch(&self) -> Option<Branch> {
        self.cell().lane.branch.clone()
    }

    /// The tag that separates this conversation from others in the session.
    #[must_use]
    pub fn isolation_scope(&self) -> Option<Arc<str>> {
        self.cell().lane.isolation_scope.clone()
    }
}
