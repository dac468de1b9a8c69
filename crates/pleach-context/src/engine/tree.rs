//! The tree of contexts: how the context of a run is made, and what it inherits.

use std::sync::{Arc, Mutex, OnceLock};

use pleach_core::{Branch, Content, Map, NodePath};
use smol_str::SmolStr;

use super::{ChildCounters, GraphNames, GraphPosition, InvocationHandle, LatestTicket, RunHandle, RunState};
use crate::context::ContextInner;
use crate::{Context, NodeError, NodeKind, NodeSpec, RetryConfig};

/// The limit of nested runs. A child is polled inside its parent, on one stack. The limit allows as many workflows as a
/// graph may nest, and a node in the innermost.
pub(crate) const MAX_DEPTH: u32 = 129;

/// Returns the error of a run that is nested in `depth` others.
pub(crate) fn too_deep(depth: u32) -> NodeError {
    NodeError::new("RecursionError", format!("{depth} nested runs: maximum recursion depth exceeded"))
        .with_hint("run the work in a loop of the graph instead of in children of children")
}

/// The settings of a child context, besides its node and its parent.
// R203
#[derive(Debug, Default)]
pub struct ChildSetup {
    /// The path of the run.
    pub path: NodePath,
    /// The branch to start on.
    pub branch: Option<Branch>,
    /// The isolation scope; `None` inherits the parent's.
    pub isolation_scope: Option<Arc<str>>,
    /// The answers to the questions of the run.
    pub resume_inputs: Option<Arc<Map>>,
    /// The ancestors that share this run's output, nearest first.
    pub output_for: Option<Arc<[NodePath]>>,
    /// The position in its workflow's graph; `None` for dynamic and root runs.
    pub position: Option<GraphPosition>,
    /// Whether the run is a background child.
    // R643
    pub background: bool,
    /// The runs of a graph node so far, if this agent answers for that node: the node's agent answers once, and has
    /// transferred to this agent.
    pub answers_for: Option<Arc<[NodePath]>>,
    /// The policy for retries of the run; `None` for a context in which no attempt is made.
    pub retry: Option<Arc<RetryConfig>>,
}

impl Context {
    // R202
    pub(crate) fn root(invocation: InvocationHandle) -> Self {
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
                retry: None,
                depth: 0,
                output_schema: None,
                state_schema: None,
                resume_inputs: None,
                position: None,
                background: false,
                answers_for: None,
                graph: OnceLock::new(),
                output_for: None,
                is_delegate: false,
                earlier_children: None,
                task: OnceLock::new(),
                last_event: LatestTicket::default(),
                cell: Mutex::new(RunState::on(None, None)),
            }),
            lane: None,
        }
    }

    /// Returns the task that this run, or one above it, works on.
    pub(crate) fn task(&self) -> Option<&Content> {
        let mut runs = std::iter::successors(Some(self), |run| run.inner.parent.as_deref());
        runs.find_map(|run| run.inner.task.get()).map(|task| &**task)
    }
}

impl RunHandle {
    /// Makes the context of a new run of the node with this specification.
    // R203
    #[must_use]
    pub fn child(&self, spec: &NodeSpec, name: &SmolStr, setup: ChildSetup) -> RunHandle {
        let parent = &*self.ctx.inner;
        let is_workflow = spec.kind == NodeKind::Workflow;
        let is_agent = spec.kind == NodeKind::Agent;
        // An author that the caller has set also applies to the runs that it starts.
        let (author, scope, is_called) = {
            let lane = &self.ctx.cell().lane;
            let is_called = lane.tool.as_ref().is_some_and(|tool| !tool.key.is_empty());
            (lane.author.clone(), lane.isolation_scope.clone(), is_called)
        };
        // Runs started by a tool of an agent are their own authors.
        let inherited = || if is_called { None } else { author.or_else(|| parent.child_author.clone()) };
        let child_author = if is_workflow || is_agent { Some(name.clone()) } else { inherited() };
        let isolation_scope = setup.isolation_scope.or(scope);
        let explicit = setup.output_for.is_some() && parent.kind != NodeKind::Workflow;
        let is_delegate = explicit || (setup.output_for.is_some() && parent.is_delegate);
        let ctx = Context {
            inner: Arc::new(ContextInner {
                invocation: parent.invocation.clone(),
                parent: Some(self.clone()),
                path: setup.path,
                author: child_author.clone().filter(|author| !author.is_empty()).unwrap_or_else(|| name.clone()),
                name: name.clone(),
                child_author,
                kind: spec.kind,
                rerun_on_resume: spec.rerun_on_resume,
                attempt: 1,
                retry: setup.retry,
                depth: parent.depth + 1,
                output_schema: spec.output_schema.clone().filter(|_| !is_workflow),
                state_schema: spec.state_schema.clone().or_else(|| parent.state_schema.clone()),
                resume_inputs: setup.resume_inputs,
                position: setup.position,
                background: setup.background || parent.background,
                answers_for: setup.answers_for,
                graph: OnceLock::new(),
                output_for: setup.output_for,
                is_delegate,
                earlier_children: None,
                task: OnceLock::new(),
                last_event: LatestTicket::default(),
                cell: Mutex::new(RunState::on(setup.branch, isolation_scope)),
            }),
            lane: None,
        };
        Self { ctx }
    }

    /// Makes the context of the next attempt of this run, on the branch and in the scope of the first attempt.
    ///
    /// The run ids of children continue after those of the failed attempt. If `rewind` is true, they start where that
    /// attempt began, so that its finished children are found again.
    // R404
    #[must_use]
    pub fn next_attempt(&self, branch: Option<Branch>, isolation_scope: Option<Arc<str>>, rewind: bool) -> RunHandle {
        let this = &*self.ctx.inner;
        let children = if rewind { this.earlier_children.clone() } else { self.ctx.cell().children.clone() };
        let mut state = RunState::on(branch, isolation_scope);
        state.children.clone_from(&children);
        let ctx = Context {
            inner: Arc::new(ContextInner {
                invocation: this.invocation.clone(),
                parent: this.parent.clone(),
                path: this.path.clone(),
                name: this.name.clone(),
                author: this.author.clone(),
                child_author: this.child_author.clone(),
                kind: this.kind,
                rerun_on_resume: this.rerun_on_resume,
                attempt: this.attempt + 1,
                retry: this.retry.clone(),
                depth: this.depth,
                output_schema: this.output_schema.clone(),
                state_schema: this.state_schema.clone(),
                resume_inputs: this.resume_inputs.clone(),
                position: this.position,
                background: this.background,
                answers_for: this.answers_for.clone(),
                graph: OnceLock::new(),
                output_for: this.output_for.clone(),
                is_delegate: this.is_delegate,
                earlier_children: children,
                task: this.task.clone(),
                last_event: LatestTicket::default(),
                cell: Mutex::new(state),
            }),
            lane: None,
        };
        Self { ctx }
    }

    /// The runs of the graph node for which this agent answers after a transfer, the first one first. Empty for any
    /// other run.
    #[must_use]
    pub fn answers_for(&self) -> &[NodePath] {
        self.ctx.inner.answers_for.as_deref().unwrap_or_default()
    }

    /// The position of the run in its workflow's graph; `None` for dynamic and root runs.
    #[must_use]
    pub fn position(&self) -> Option<GraphPosition> {
        self.ctx.inner.position
    }

    /// Returns the task that this run, or one above it, works on.
    #[must_use]
    pub fn task(&self) -> Option<&Content> {
        self.ctx.task()
    }

    /// Returns `true` if a run above this one may be retried after this run's failure. The invocation then continues,
    /// as it does if a body above catches the failure.
    pub(super) fn is_tried_again_above(&self, error: &NodeError) -> bool {
        let mut in_background = self.ctx.inner.background;
        let mut runs = std::iter::successors(self.parent(), |run| run.parent());
        runs.any(|run| {
            let inner = &run.inner;
            let (is_workflow, has_ended) = {
                let state = run.cell();
                (state.workflow.is_some(), state.has_ended())
            };
            // The failure of a background child goes directly to its workflow, not to the run that started the child.
            if in_background && !inner.background && !is_workflow {
                return false;
            }
            in_background = inner.background;
            // A run that has ended may have runs below it, if its agent transfers to them.
            !has_ended && inner.retry.as_ref().is_some_and(|policy| policy.retries(error, inner.attempt))
        })
    }

    /// The run that started this run; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<&RunHandle> {
        self.ctx.inner.parent.as_ref()
    }

    /// Sets the names that the runs below this one can show. Only the first call has an effect.
    pub fn set_graph_names(&self, names: Arc<GraphNames>) {
        let _ = self.ctx.inner.graph.set(names);
    }

    /// Checks that this run is not nested too deeply.
    ///
    /// # Errors
    /// A `RecursionError` if more than 129 runs are nested.
    pub fn check_depth(&self) -> Result<(), NodeError> {
        if self.ctx.inner.depth <= MAX_DEPTH {
            return Ok(());
        }
        Err(too_deep(self.ctx.inner.depth))
    }

    /// Chooses the path of the next child of this name, and counts the child.
    #[must_use]
    pub fn next_child_path(&self, name: &SmolStr, run_id: Option<&str>) -> NodePath {
        if let Some(id) = run_id {
            self.ctx.cell().children.get_or_insert_default();
            return self.ctx.node_path().child(name, id);
        }
        let mut cell = self.ctx.cell();
        if let Some(id) = cell.lane.tool.as_mut().and_then(|tool| tool.next_run_id(name)) {
            cell.children.get_or_insert_default();
            return self.ctx.node_path().child(name, &id);
        }
        let ChildCounters { counts, path_buffer } = &mut **cell.children.get_or_insert_default();
        let run = match counts.get_mut(name) {
            Some(count) => {
                *count += 1;
                *count
            }
            None => *counts.entry(name.clone()).or_insert(1),
        };
        self.ctx.node_path().child_in(path_buffer, name, run)
    }

    /// Counts a child whose path was chosen elsewhere, so that [`next_child_path`](Self::next_child_path) continues
    /// after its run id.
    pub fn count_child(&self, name: &SmolStr, run: u32) {
        let mut cell = self.ctx.cell();
        let count = cell.children.get_or_insert_default().counts.entry(name.clone()).or_default();
        *count = run.max(*count);
    }

    /// Returns the highest counted run id of the children of this name.
    #[must_use]
    pub fn child_count(&self, name: &SmolStr) -> u32 {
        let cell = self.ctx.cell();
        cell.children.as_ref().and_then(|children| children.counts.get(name).copied()).unwrap_or_default()
    }

    /// The ancestors that share this run's output, nearest first.
    #[must_use]
    pub fn output_for(&self) -> Option<std::sync::Arc<[NodePath]>> {
        self.ctx.inner.output_for.clone()
    }

    /// The ancestors that share the output of this run's delegate: this run first, then those of
    /// [`output_for`](Self::output_for).
    #[must_use]
    pub fn output_for_of_child(&self) -> std::sync::Arc<[NodePath]> {
        let own = std::iter::once(self.ctx.node_path().clone());
        own.chain(self.ctx.inner.output_for.iter().flat_map(|paths| paths.iter().cloned())).collect()
    }

    /// Returns `true` if this attempt has started children.
    #[must_use]
    pub fn has_children(&self) -> bool {
        self.ctx.cell().children.is_some()
    }
}
