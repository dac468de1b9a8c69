//! [`WorkflowBuilder`]: builds a graph with handles that the compiler checks.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pleach_context::engine::GraphNames;
use pleach_context::{Dynamic, InputKind, InputReader, Node, NodeKind, RetryConfig, Schema, Tool, TypedNode};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use smol_str::SmolStr;

use super::compiled::{Awaited, Graph, Join, Part};
use super::draft::{Adjacency, Draft, Link};
use super::edge::{Edge, EdgeRoute};
use super::error::{BuildError, Fault};
use super::handle::{End, NodeRef, Source, Sources, Targets};
use super::validate;
use crate::{Blocking, FunctionNode, Handler, JoinNode, ParallelWorker, ToolNode, Workflow};

/// Builds a workflow. `W` is the input type of the workflow: any value unless [`input`](Self::input) sets it.
///
/// Adding a node returns a handle, and edges connect handles. An edge between types that do not fit does not compile.
/// [`build`](Self::build) reports all other faults at once.
pub struct WorkflowBuilder<W = Dynamic> {
    draft: Draft,
    graph: u64,
    max_concurrency: Option<usize>,
    input: PhantomData<fn(W)>,
}

impl Workflow {
    /// Returns a builder for a workflow of this name.
    pub fn builder(name: impl Into<SmolStr>) -> WorkflowBuilder<Dynamic> {
        WorkflowBuilder::new(name)
    }
}

impl WorkflowBuilder<Dynamic> {
    fn new(name: impl Into<SmolStr>) -> Self {
        static GRAPHS: AtomicU64 = AtomicU64::new(0);
        Self {
            draft: Draft::new(name.into()),
            graph: GRAPHS.fetch_add(1, Ordering::Relaxed),
            max_concurrency: None,
            input: PhantomData,
        }
    }
}

impl<W> WorkflowBuilder<W> {
    /// Sets the input type of the workflow, which START passes to the first nodes.
    ///
    /// The compiler checks the edges from START. A user's message is free-form and is stored unchecked: if it cannot
    /// be read as a `T`, the workflow fails with a `ValidationError` that describes the type. An agent that has the
    /// workflow as a tool shows its model the shape of `T`.
    #[must_use]
    pub fn input<T: DeserializeOwned + JsonSchema + 'static>(self) -> WorkflowBuilder<T> {
        let mut draft = self.draft;
        draft.spec.takes = InputKind::of::<T>();
        draft.spec.reads = vec![InputReader::of::<T>()];
        draft.spec.reads_schema = Some(Schema::json(schemars::schema_for!(T).to_value()));
        WorkflowBuilder { draft, graph: self.graph, max_concurrency: self.max_concurrency, input: PhantomData }
    }

    /// Adds a handler as a node of this name.
    pub fn node<H, M>(&mut self, name: impl Into<SmolStr>, handler: H) -> NodeRef<H::In, H::Out>
    where
        H: Handler<M>,
        H::In: 'static,
        H::Out: 'static,
    {
        self.add(FunctionNode::new(name, handler))
    }

    /// Adds a plain function as a node with this name. It runs on tokio's pool for blocking work: see
    /// [`FunctionNode::blocking`].
    pub fn node_blocking<F, M>(
        &mut self,
        name: impl Into<SmolStr>,
        function: F,
    ) -> NodeRef<<Blocking<F> as Handler<M>>::In, <Blocking<F> as Handler<M>>::Out>
    where
        Blocking<F>: Handler<M>,
        <Blocking<F> as Handler<M>>::In: 'static,
        <Blocking<F> as Handler<M>>::Out: 'static,
    {
        self.add(FunctionNode::blocking(name, function))
    }

    /// Adds a node, such as a [`FunctionNode`] with settings, a workflow or an agent.
    pub fn add<N: TypedNode>(&mut self, node: N) -> NodeRef<N::In, N::Out> {
        self.push(Arc::new(node))
    }

    /// Adds a node that runs once per item of its input, concurrently, and returns the list of outputs. For limits and
    /// retries, create a [`ParallelWorker`] and [`add`](Self::add) it.
    pub fn parallel<N: TypedNode>(&mut self, node: N) -> NodeRef<Vec<N::In>, Vec<N::Out>> {
        self.add(ParallelWorker::new(node))
    }

    /// Adds a tool as a node with the tool's name. For retries and time limits, create a [`ToolNode`] and
    /// [`add`](Self::add) it.
    pub fn tool(&mut self, tool: impl Tool) -> NodeRef<Dynamic, Dynamic> {
        self.add(ToolNode::new(tool))
    }

    /// Adds a node whose types are known only at run time.
    pub fn add_dynamic(&mut self, node: Arc<dyn Node>) -> NodeRef<Dynamic, Dynamic> {
        self.push(node)
    }

    fn push<In, Out>(&mut self, node: Arc<dyn Node>) -> NodeRef<In, Out> {
        self.draft.nodes.push(node);
        NodeRef::new(self.graph, self.draft.nodes.len() - 1)
    }

    /// Adds a node that waits for all of `from` and returns a map of their outputs by name. ADK: `JoinNode`.
    #[doc(alias = "JoinNode")]
    pub fn join(&mut self, name: impl Into<SmolStr>, from: impl Sources) -> NodeRef<Dynamic, Dynamic> {
        let join = self.push(Arc::new(JoinNode::new(name)));
        let mut ends = Vec::new();
        from.ends(&mut ends);
        for end in ends {
            self.link(end, End::Node { graph: join.graph, index: join.index }, None);
        }
        join
    }

    /// Adds a join whose map is read as a `T`. The fields of `T` are the names of the joined nodes; `build` checks
    /// them.
    pub fn join_as<T: DeserializeOwned + JsonSchema>(
        &mut self,
        name: impl Into<SmolStr>,
        from: impl Sources,
    ) -> NodeRef<Dynamic, T> {
        let name = name.into();
        let mut ends = Vec::new();
        from.ends(&mut ends);
        let schema = schemars::schema_for!(T).to_value();
        let joined: Vec<SmolStr> =
            ends.iter().filter(|end| self.owns(**end)).map(|end| self.draft.name_of(*end)).collect();
        for field in schema.get("required").and_then(|fields| fields.as_array()).into_iter().flatten() {
            let field = field.as_str().unwrap_or_default();
            if !joined.iter().any(|name| name == field) {
                let message = format!(
                    "join '{name}' has no predecessor '{field}', which its type requires: join a node with that name, or make the field an `Option`"
                );
                self.draft.misuses.push(Fault::config("unknown_join_field", message));
            }
        }
        self.join(name, from).gives()
    }

    /// Adds edges that are followed on every route.
    pub fn edge<S: Source<W>, T: Targets<S::Out, M>, M>(&mut self, from: S, to: T) -> &mut Self {
        self.links(from.end(), to, None)
    }

    /// Adds edges that are followed on this route, or on any of a list of routes. An edge on
    /// [`DEFAULT_ROUTE`](pleach_core::DEFAULT_ROUTE) is followed if no other routed edge is.
    pub fn route<S: Source<W>, T: Targets<S::Out, M>, M>(
        &mut self,
        from: S,
        route: impl Into<EdgeRoute>,
        to: T,
    ) -> &mut Self {
        self.links(from.end(), to, Some(route.into()))
    }

    /// Adds one routed edge per entry of a map, which must not be empty. ADK: a routing map in a chain.
    pub fn routes<S, R, T, M>(&mut self, from: S, map: impl IntoIterator<Item = (R, T)>) -> &mut Self
    where
        S: Source<W>,
        R: Into<EdgeRoute>,
        T: Targets<S::Out, M>,
    {
        let before = self.draft.links.len();
        for (route, to) in map {
            self.links(from.end(), to, Some(route.into()));
        }
        if self.draft.links.len() == before {
            let node = if self.owns(from.end()) { self.draft.name_of(from.end()) } else { SmolStr::default() };
            let message = format!("Routing map must not be empty: node '{node}'. Add at least one route.");
            self.draft.misuses.push(Fault::config("empty_routing_map", message));
        }
        self
    }

    fn links<T: Targets<Out, M>, Out, M>(&mut self, from: End, to: T, route: Option<EdgeRoute>) -> &mut Self {
        let mut ends = Vec::new();
        to.ends(&mut ends);
        for end in ends {
            self.link(from, end, route.clone());
        }
        self
    }

    fn owns(&self, end: End) -> bool {
        matches!(end, End::Start) || matches!(end, End::Node { graph, .. } if graph == self.graph)
    }

    fn link(&mut self, from: End, to: End, route: Option<EdgeRoute>) {
        if self.owns(from) && self.owns(to) {
            self.draft.links.push(Link { from, to, route });
        } else {
            let message = format!(
                "an edge of workflow '{0}' uses a node of another workflow. Add that node to '{0}' and use the new handle",
                self.draft.spec.name
            );
            self.draft.misuses.push(Fault::config("foreign_handle", message));
        }
    }

    /// Limits how many graph nodes run concurrently; 0 means no limit. Dynamic children are not limited.
    // R623
    pub fn max_concurrency(&mut self, nodes: usize) -> &mut Self {
        self.max_concurrency = (nodes > 0).then_some(nodes);
        self
    }

    /// Sets the description.
    pub fn description(&mut self, text: impl Into<String>) -> &mut Self {
        self.draft.spec.description = text.into();
        self
    }

    /// Sets the retry policy of the workflow. Nodes with a recorded result do not run again.
    // R644
    pub fn retry(&mut self, policy: RetryConfig) -> &mut Self {
        self.draft.spec.retry = Some(policy);
        self
    }

    /// Sets the time limit of one attempt of the workflow.
    pub fn timeout(&mut self, limit: Duration) -> &mut Self {
        self.draft.spec.timeout = Some(limit);
        self
    }

    /// Sets the schema of the input.
    pub fn input_schema(&mut self, schema: Schema) -> &mut Self {
        self.draft.spec.input_schema = Some(schema);
        self
    }

    /// Sets the schema of the output; the stored event keeps the terminal node's own output.
    // R642
    pub fn output_schema(&mut self, schema: Schema) -> &mut Self {
        self.draft.spec.output_schema = Some(schema);
        self
    }

    /// Sets the schema of the session state for all nodes of the workflow.
    // R164
    pub fn state_schema(&mut self, schema: Schema) -> &mut Self {
        self.draft.spec.state_schema = Some(schema);
        self
    }

    /// Checks the graph and returns the workflow. The graph moves out of the builder, so a second `build` is an error.
    ///
    /// # Errors
    /// All faults of the graph, by node name.
    pub fn build(&mut self) -> Result<Workflow<W, Dynamic>, BuildError> {
        self.finish()
    }

    /// Checks the graph and returns the workflow with the output type of `last`.
    ///
    /// # Errors
    /// The errors of [`build`](Self::build), and a fault if `last` is not a terminal node.
    pub fn build_to<In, Out>(&mut self, last: NodeRef<In, Out>) -> Result<Workflow<W, Out>, BuildError> {
        let end = End::Node { graph: last.graph, index: last.index };
        let terminal = self.owns(end) && !self.draft.links.iter().any(|link| link.from == end);
        if !terminal {
            let message = match self.draft.nodes.get(last.index).filter(|_| last.graph == self.graph) {
                Some(node) => format!(
                    "node '{}' is not a last node, because edges leave it: pass a node without outgoing edges to `build_to`",
                    node.spec().name
                ),
                None => "`build_to` got a handle of another workflow: pass a node of this one".to_owned(),
            };
            self.draft.misuses.push(Fault::config("last_not_terminal", message));
        }
        self.finish()
    }

    fn finish<Out>(&mut self) -> Result<Workflow<W, Out>, BuildError> {
        let spent = Draft::spent(&self.draft.spec.name);
        let mut draft = std::mem::replace(&mut self.draft, spent);
        let below = draft.nodes.iter().map(|node| node.spec().levels).max();
        draft.spec.levels = 1 + below.unwrap_or(0);
        if draft.spec.reads.is_empty() {
            draft.spec.reads = draft.first_readers();
        }
        let faults = validate::faults(&draft);
        if !faults.is_empty() {
            return Err(BuildError { name: draft.spec.name.to_string(), faults });
        }
        let graph = (!draft.links.is_empty()).then(|| compile(&draft));
        Ok(Workflow::new(draft.spec, graph, self.max_concurrency))
    }
}

fn compile(draft: &Draft) -> Graph {
    let adjacency = draft.adjacency();
    let part = |(node, incoming): (&Arc<dyn Node>, &Vec<&Link>)| Part {
        node: Arc::clone(node),
        out: Vec::new(),
        join: compile_join(draft, node, incoming),
    };
    let mut parts: Vec<Part> = draft.nodes.iter().zip(&adjacency.into).map(part).collect();
    let mut start = Vec::new();
    for (declared, link) in (0..).zip(&draft.links) {
        let End::Node { index: to, .. } = link.to else { continue };
        let name = draft.name_of(link.from);
        let slot = |join: &Join| join.awaited.binary_search_by(|awaited| awaited.name.cmp(&name)).ok();
        let join_slot = parts[to].join.as_ref().and_then(slot).and_then(|slot| u32::try_from(slot).ok());
        let edge = Edge { to, route: link.route.clone(), join_slot: join_slot.unwrap_or(0), declared };
        match link.from {
            End::Start => start.push(edge),
            End::Node { index, .. } => parts[index].out.push(edge),
        }
    }
    Graph::new(start, parts, names(draft, &adjacency))
}

fn names(draft: &Draft, adjacency: &Adjacency<'_>) -> GraphNames {
    let predecessors = |incoming: &Vec<&Link>| {
        let mut names: Vec<SmolStr> = incoming.iter().map(|link| draft.name_of(link.from)).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    GraphNames {
        nodes: draft.nodes.iter().map(|node| node.spec().name.clone()).collect(),
        predecessors: adjacency.into.iter().map(predecessors).collect(),
    }
}

fn compile_join(draft: &Draft, node: &Arc<dyn Node>, incoming: &[&Link]) -> Option<Join> {
    if node.spec().kind != NodeKind::Join {
        return None;
    }
    let awaited = |link: &&Link| Awaited {
        name: draft.name_of(link.from),
        node: match link.from {
            End::Start => None,
            End::Node { index, .. } => Some(index),
        },
    };
    let mut awaited: Vec<Awaited> = incoming.iter().map(awaited).collect();
    awaited.sort_by(|a, b| a.name.cmp(&b.name));
    awaited.dedup_by(|a, b| a.node == b.node);
    let expected = awaited.iter().filter(|awaited| awaited.node.is_some()).count();
    Some(Join { awaited, expected })
}

impl<W> fmt::Debug for WorkflowBuilder<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: Vec<&str> = self.draft.nodes.iter().map(|node| node.spec().name.as_str()).collect();
        f.debug_struct("WorkflowBuilder")
            .field("name", &self.draft.spec.name)
            .field("nodes", &nodes)
            .finish_non_exhaustive()
    }
}
