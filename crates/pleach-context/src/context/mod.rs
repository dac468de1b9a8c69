//! [`Context`]: one per node run, the API of node code.
//!
//! Contexts form a tree that mirrors the runs: children point at parents, never back, and all share one
//! [`InvocationContext`]. What a run gives to its orchestrator (output, route, questions, pending changes) stands in
//! the context's cell, behind a lock that is taken per call and never held across an await.

mod actions;
mod cell;
mod checks;
mod children;
mod detached;
mod emit;
mod outcomes;
mod park;
mod progress;
mod readonly;
mod services;
mod session_view;
mod tool;
mod turns;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pleach_core::{Branch, Content, IntoRoute, Map, NodePath, Route};
use rustc_hash::FxHashMap;
use serde_json::Value;
use smol_str::SmolStr;

pub use children::json_schema_of;
pub use detached::{DetachedChild, asked_detached};
pub use emit::{Carries, Staged};
pub use park::Pending;
pub use readonly::ReadonlyContext;
pub use session_view::SessionView;
pub use tool::ToolRequests;

use cell::{Output, RunCell};

use crate::engine::{Engine as _, NodeEnd, NodeResult, RunHandle};
use crate::{InvocationContext, NodeError, NodeInput, NodeKind, NodeSpec, RunConfig, Schema, State};

/// The context of one node run. Cheap to clone: clones are the same run.
///
/// ADK: `Context` (also `CallbackContext` and `ToolContext`).
// R201–R220
#[derive(Clone)]
pub struct Context {
    inner: Arc<ContextInner>,
}

struct ContextInner {
    invocation: Arc<InvocationContext>,
    parent: Option<Context>,
    path: NodePath,
    name: SmolStr,
    author: SmolStr,
    child_author: Option<SmolStr>,
    kind: NodeKind,
    rerun_on_resume: bool,
    attempt: u32,
    /// How many runs are above this one.
    depth: u32,
    output_schema: Option<Schema>,
    state_schema: Option<Schema>,
    resume_inputs: Option<Arc<Map>>,
    place: Option<Place>,
    /// Nobody waits for the run, or for one above it.
    detached: bool,
    graph: OnceLock<Arc<GraphNames>>,
    output_for: Option<Arc<[NodePath]>>,
    claimed: bool,
    /// How many children of each name earlier attempts of this run have started.
    earlier_children: Option<Box<FxHashMap<SmolStr, u32>>>,
    cell: Mutex<RunCell>,
}

/// Where in its workflow's graph a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The node.
    pub node: u32,
    /// The predecessor whose completion queued the run; `None` for the first nodes.
    pub by: Option<u32>,
}

/// The names in a workflow's graph, for contexts to show. A workflow run shares one with the runs below it.
#[derive(Debug, Default)]
pub struct GraphNames {
    /// The nodes.
    pub nodes: Vec<SmolStr>,
    /// For every node, the names of all its predecessors.
    pub predecessors: Vec<Vec<SmolStr>>,
}

/// What a child context is made from, beside its node and its parent.
// R203
#[derive(Debug, Default)]
pub struct ChildSetup {
    /// The path of the run.
    pub path: NodePath,
    /// The branch to start on.
    pub branch: Option<Branch>,
    /// The isolation scope; `None` inherits the parent's.
    pub isolation_scope: Option<Arc<str>>,
    /// The answers to the run's questions.
    pub resume_inputs: Option<Arc<Map>>,
    /// The ancestors whose output this run's output is too, nearest first.
    pub output_for: Option<Arc<[NodePath]>>,
    /// Where in its workflow's graph the run stands; `None` for dynamic and root runs.
    pub place: Option<Place>,
    /// Whether nobody waits for the run.
    // R643
    pub detached: bool,
}

impl Context {
    // R202
    pub(crate) fn root(invocation: Arc<InvocationContext>) -> Self {
        Self {
            inner: Arc::new(ContextInner {
                invocation,
                parent: None,
                path: NodePath::root(),
                name: SmolStr::default(),
                author: SmolStr::default(),
                child_author: None,
                kind: NodeKind::Plain,
                rerun_on_resume: true,
                attempt: 1,
                depth: 0,
                output_schema: None,
                state_schema: None,
                resume_inputs: None,
                place: None,
                detached: false,
                graph: OnceLock::new(),
                output_for: None,
                claimed: false,
                earlier_children: None,
                cell: Mutex::default(),
            }),
        }
    }

    pub(crate) fn cell(&self) -> MutexGuard<'_, RunCell> {
        // No user code runs under this lock, so a panic cannot leave the cell half-changed.
        self.inner.cell.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What all runs of the invocation share.
    #[must_use]
    pub fn invocation(&self) -> &Arc<InvocationContext> {
        &self.inner.invocation
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

    /// Which attempt this is, from 1.
    #[must_use]
    pub fn attempt_count(&self) -> u32 {
        self.inner.attempt
    }

    /// How often the run has been tried again: 0 on the first attempt.
    #[must_use]
    pub fn retry_count(&self) -> u32 {
        self.inner.attempt - 1
    }

    /// The predecessor whose completion queued the run; `__START__` for the first nodes, empty for dynamic and root
    /// runs.
    #[must_use]
    pub fn triggered_by(&self) -> &str {
        match (self.inner.place, self.names()) {
            (Some(Place { by: Some(by), .. }), Some(names)) => names.nodes.get(by as usize).map_or("", SmolStr::as_str),
            (Some(Place { by: None, .. }), _) => "__START__",
            _ => "",
        }
    }

    /// The names of all predecessors in the graph; empty for dynamic and root runs.
    #[must_use]
    pub fn in_nodes(&self) -> &[SmolStr] {
        let place = self.inner.place;
        let known = place.zip(self.names()).and_then(|(place, names)| names.predecessors.get(place.node as usize));
        known.map(Vec::as_slice).unwrap_or_default()
    }

    fn names(&self) -> Option<&GraphNames> {
        self.engine().parent()?.inner.graph.get().map(|names| &**names)
    }

    /// The id that all events of the invocation carry.
    #[must_use]
    pub fn invocation_id(&self) -> &str {
        self.inner.invocation.invocation_id().as_str()
    }

    /// The user.
    #[must_use]
    pub fn user_id(&self) -> &str {
        self.inner.invocation.user_id().as_str()
    }

    /// The message that started the invocation, also when it is resumed.
    #[must_use]
    pub fn user_content(&self) -> Option<&Content> {
        self.inner.invocation.user_content()
    }

    /// The name of the root agent; `unknown` when the root is no agent.
    #[must_use]
    pub fn agent_name(&self) -> &str {
        self.inner.invocation.agent_name()
    }

    /// The settings of the invocation.
    #[must_use]
    pub fn run_config(&self) -> &RunConfig {
        self.inner.invocation.run_config()
    }

    /// Whether the invocation was asked to stop.
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

    pub(crate) fn author_in(&self, cell: &RunCell) -> SmolStr {
        match &cell.author {
            Some(author) if author.is_empty() => self.inner.name.clone(),
            Some(author) => author.clone(),
            None => self.inner.author.clone(),
        }
    }

    /// Sets the author of later events of this run and of the runs that it starts from now on, except those of
    /// workflows, which are their own authors. An empty text means the name of the node that runs.
    ///
    /// ADK: `Context.event_author`
    pub fn set_event_author(&self, author: impl Into<SmolStr>) {
        self.cell().author = Some(author.into());
    }

    /// The branch that the run is on; the root is none.
    #[must_use]
    pub fn branch(&self) -> Option<Branch> {
        self.cell().branch.clone()
    }

    /// The tag that keeps a conversation apart from others of the session.
    #[must_use]
    pub fn isolation_scope(&self) -> Option<Arc<str>> {
        self.cell().isolation_scope.clone()
    }

    /// The session state, with this run's changes pending.
    #[must_use]
    pub fn state(&self) -> State<'_> {
        State::new(self)
    }

    /// The answers to this run's questions, by question id; empty unless the run resumes.
    #[must_use]
    pub fn resume_inputs(&self) -> &Map {
        static NONE: std::sync::LazyLock<Map> = std::sync::LazyLock::new(Map::new);
        self.inner.resume_inputs.as_deref().unwrap_or(&NONE)
    }

    /// The output of the run so far.
    #[must_use]
    pub fn output(&self) -> Option<Value> {
        match &self.cell().output {
            Output::Unset | Output::Sending => None,
            Output::Pending(value) => Some(value.clone()),
            Output::Stored(output) => Some(output.to_value()),
        }
    }

    /// Sets the output of the run; it is sent when the body ends. Null leaves it unset.
    ///
    /// # Errors
    /// A `ValueError` when an output is set already: a run gives at most one. A `RuntimeError` when the run has ended.
    // R210
    pub fn set_output(&self, output: impl Into<Value>) -> Result<(), NodeError> {
        let output = self.bounded(output.into())?;
        let mut cell = self.cell();
        if cell.parking.ended {
            return Err(self.has_ended());
        }
        if cell.output.is_set() {
            return Err(cell::output_twice());
        }
        if !output.is_null() {
            cell.output = Output::Pending(output);
        }
        Ok(())
    }

    /// The route so far.
    #[must_use]
    pub fn route(&self) -> Option<Route> {
        self.cell().route.clone()
    }

    /// Sets the route; the last one wins. After the end of the run it has no effect but a warning in the log;
    /// [`with_actions`](Self::with_actions) is an error then.
    // R211
    pub fn set_route(&self, route: impl IntoRoute) {
        let route = route.into_route();
        let mut cell = self.cell();
        if cell.parking.ended {
            drop(cell);
            tracing::warn!(path = %self.node_path(), "a route was set after the end of its run and is ignored");
            return;
        }
        cell.route = Some(route);
        cell.route_pending = true;
    }

    /// The questions that this run, or a run below it, waits for.
    #[must_use]
    pub fn interrupt_ids(&self) -> Vec<String> {
        self.cell().interrupts.clone()
    }

    /// What the run failed with.
    #[must_use]
    pub fn error(&self) -> Option<NodeError> {
        self.cell().error.as_ref().map(|failure| failure.error.clone())
    }

    /// The run that failed: this one or one below it.
    #[must_use]
    pub fn error_node_path(&self) -> Option<NodePath> {
        self.cell().error.as_ref().map(|failure| failure.path.clone())
    }

    /// The shapes that are checked on this run's outputs.
    pub(crate) fn output_schema(&self) -> Option<&Schema> {
        self.inner.output_schema.as_ref()
    }

    pub(crate) fn has_state_schema(&self) -> bool {
        self.inner.state_schema.is_some()
    }

    pub(crate) fn check_state_entry(&self, key: &str, value: &Value) -> Result<(), NodeError> {
        match &self.inner.state_schema {
            Some(schema) => schema.check_state_entry(key, value),
            None => Ok(()),
        }
    }
}

impl<'a> RunHandle<'a> {
    /// The context of a new run of the node with this specification.
    // R203
    #[must_use]
    pub fn child(self, spec: &NodeSpec, name: &SmolStr, setup: ChildSetup) -> Context {
        let parent = &*self.0.inner;
        let is_workflow = spec.kind == NodeKind::Workflow;
        // An author that the caller has set counts for what it starts, too.
        let inherited = || self.0.cell().author.clone().or_else(|| parent.child_author.clone());
        let child_author = if is_workflow { Some(name.clone()) } else { inherited() };
        let isolation_scope = setup.isolation_scope.or_else(|| self.0.cell().isolation_scope.clone());
        let explicit = setup.output_for.is_some() && parent.kind != NodeKind::Workflow;
        let claimed = explicit || (setup.output_for.is_some() && parent.claimed);
        Context {
            inner: Arc::new(ContextInner {
                invocation: Arc::clone(&parent.invocation),
                parent: Some(self.0.clone()),
                path: setup.path,
                author: child_author.clone().filter(|author| !author.is_empty()).unwrap_or_else(|| name.clone()),
                name: name.clone(),
                child_author,
                kind: spec.kind,
                rerun_on_resume: spec.rerun_on_resume,
                attempt: 1,
                depth: parent.depth + 1,
                output_schema: spec.output_schema.clone().filter(|_| !is_workflow),
                state_schema: spec.state_schema.clone().or_else(|| parent.state_schema.clone()),
                resume_inputs: setup.resume_inputs,
                place: setup.place,
                detached: setup.detached || parent.detached,
                graph: OnceLock::new(),
                output_for: setup.output_for,
                claimed,
                earlier_children: None,
                cell: Mutex::new(RunCell { branch: setup.branch, isolation_scope, ..RunCell::default() }),
            }),
        }
    }

    /// The context of the next attempt of this run, on the branch and in the scope that the first one had.
    ///
    /// The run ids of children go on behind those of the failed attempt; `rewind` starts them where that attempt began,
    /// so that its finished children are found again.
    // R404
    #[must_use]
    pub fn next_attempt(self, branch: Option<Branch>, isolation_scope: Option<Arc<str>>, rewind: bool) -> Context {
        let this = &*self.0.inner;
        let children = if rewind { this.earlier_children.clone() } else { self.0.cell().children.clone() };
        Context {
            inner: Arc::new(ContextInner {
                invocation: Arc::clone(&this.invocation),
                parent: this.parent.clone(),
                path: this.path.clone(),
                name: this.name.clone(),
                author: this.author.clone(),
                child_author: this.child_author.clone(),
                kind: this.kind,
                rerun_on_resume: this.rerun_on_resume,
                attempt: this.attempt + 1,
                depth: this.depth,
                output_schema: this.output_schema.clone(),
                state_schema: this.state_schema.clone(),
                resume_inputs: this.resume_inputs.clone(),
                place: this.place,
                detached: this.detached,
                graph: OnceLock::new(),
                output_for: this.output_for.clone(),
                claimed: this.claimed,
                earlier_children: children.clone(),
                cell: Mutex::new(RunCell { branch, isolation_scope, children, ..RunCell::default() }),
            }),
        }
    }

    /// The context of the run that runs this one; the root has none.
    #[must_use]
    pub fn parent(self) -> Option<&'a Context> {
        self.0.inner.parent.as_ref()
    }

    /// Says which names the runs below this one can show; only the first call counts.
    pub fn set_graph_names(self, names: Arc<GraphNames>) {
        let _ = self.0.inner.graph.set(names);
    }

    /// Takes how the run ended, if it did not fail. Output and route move out of the context: call it once, when the body is
    /// over. See [`NodeEnd::of_body`] for `wait_for_output`.
    #[must_use]
    pub fn take_end(self, wait_for_output: bool) -> NodeEnd {
        let mut cell = self.0.cell();
        if !cell.interrupts.is_empty() {
            return NodeEnd::Interrupted(cell.interrupts.clone());
        }
        let output = match std::mem::take(&mut cell.output) {
            Output::Unset | Output::Sending => cell.claimed_output.take().unwrap_or_default(),
            Output::Pending(value) => NodeInput::json(value),
            Output::Stored(output) => output,
        };
        NodeEnd::of_body(NodeResult { output, route: cell.route.take(), branch: cell.branch.clone() }, wait_for_output)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("path", &self.inner.path)
            .field("attempt", &self.inner.attempt)
            .finish_non_exhaustive()
    }
}
