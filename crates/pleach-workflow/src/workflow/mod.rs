//! [`Workflow`]: a graph of nodes that is a node itself.

mod changed;
mod checkpoint;
mod completion;
mod ends;
mod orchestrate;
mod replay_plan;
mod schedule;
mod triggers;
mod workflow_replay;

use std::fmt;
use std::marker::PhantomData;

use pleach_context::engine::RunHandle;
use pleach_context::{
    AnswerType, Context, Dynamic, Flow, History, Need, Node, NodeError, NodeInput, NodeSpec, Outline, TypedNode,
    example_of,
};
use pleach_core::{BoxFuture, NodePath};

use crate::graph::Graph;
use crate::picture::{dot, mermaid};
use orchestrate::Orchestration;

/// A graph of nodes, run as one node: the root of an app, a node of another workflow, or a dynamic child.
///
/// # Example
/// A graph with a route and a loop. [`WorkflowBuilder`](crate::WorkflowBuilder) describes the other kinds of edges.
/// ```
/// # use pleach_context::{Input, Node as _};
/// # use pleach_workflow::{BuildError, EdgeRoute, Output, START, Workflow};
/// # fn main() -> Result<(), BuildError> {
/// let mut wf = Workflow::builder("countdown");
/// let count = wf.node("count", async |Input(n): Input<i64>| {
///     let output = Output::of(n - 1);
///     if n > 1 { output.route("again") } else { output }
/// });
/// let done = wf.node("done", async |Input(n): Input<i64>| format!("{n}, lift off"));
/// wf.edge(START, count).route(count, "again", count).route(count, EdgeRoute::Default, done);
/// let countdown = wf.build_to(done)?;
/// assert_eq!(countdown.outline().graph.map(|graph| graph.edges.len()), Some(3));
/// # Ok(())
/// # }
/// ```
///
/// ADK: `Workflow`.
// R601–R645
pub struct Workflow<In = Dynamic, Out = Dynamic> {
    spec: NodeSpec,
    /// The graph; `None` for a workflow without edges, which does nothing.
    // R605
    graph: Option<Graph>,
    max_concurrency: Option<usize>,
    types: PhantomData<fn(In) -> Out>,
}

impl<In, Out> Workflow<In, Out> {
    pub(crate) fn new(spec: NodeSpec, graph: Option<Graph>, max_concurrency: Option<usize>) -> Self {
        Self { spec, graph, max_concurrency, types: PhantomData }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.spec.name
    }
}

impl<In: 'static, Out: 'static> Workflow<In, Out> {
    /// Draws the graph as a Mermaid flowchart, which Markdown pages show; nested workflows are subgraphs.
    #[must_use]
    pub fn to_mermaid(&self) -> String {
        mermaid(&self.outline())
    }

    /// Draws the graph as a DOT digraph for Graphviz; nested workflows are clusters.
    #[must_use]
    pub fn to_dot(&self) -> String {
        dot(&self.outline())
    }
}

impl<In: 'static, Out: 'static> Node for Workflow<In, Out> {
    fn spec(&self) -> &NodeSpec {
        &self.spec
    }

    fn run<'a>(&'a self, ctx: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
        let run = RunHandle::of(ctx);
        if !has_begun(&run)
            && let Err(error) = check_message(&self.spec, &input)
        {
            return Box::pin(std::future::ready(Err(error)));
        }
        match &self.graph {
            Some(graph) => {
                let begun = Orchestration::begin(graph, &self.spec, self.max_concurrency, run, input);
                Box::pin(async move {
                    let (mut orchestration, mut schedule) = begun?;
                    orchestration.run(&mut schedule).await
                })
            }
            None => Box::pin(std::future::ready(Ok(Flow::NOTHING))),
        }
    }

    fn outline(&self) -> Outline {
        Outline { graph: self.graph.as_ref().map(Graph::outline), ..Outline::of(&self.spec) }
    }

    fn fits(&self, path: &NodePath, history: &History) -> Result<(), NodeError> {
        self.graph.as_ref().map_or(Ok(()), |graph| changed::check(&self.spec.name, graph, path, history))
    }

    fn answer_type(&self, path: &[&str]) -> Option<AnswerType> {
        let (graph, (name, below)) = (self.graph.as_ref()?, path.split_first()?);
        graph.nodes[*graph.index.get(*name)? as usize].node.answer_type(below)
    }

    fn spec_at(&self, path: &[&str]) -> Option<&NodeSpec> {
        let Some((name, below)) = path.split_first() else { return Some(self.spec()) };
        let graph = self.graph.as_ref()?;
        graph.nodes[*graph.index.get(*name)? as usize].node.spec_at(below)
    }

    fn child(&self, name: &str) -> Option<&dyn Node> {
        let graph = self.graph.as_ref()?;
        Some(&*graph.nodes[*graph.index.get(name)? as usize].node)
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        for node in self.graph.iter().flat_map(|graph| &graph.nodes) {
            node.node.needs(needs);
        }
    }
}

/// Returns `true` if history has runs of the workflow's nodes. Its message was checked when they started; since then
/// the message may have been redacted, or its type may have changed.
fn has_begun(run: &RunHandle) -> bool {
    run.invocation().history().is_some_and(|history| history.children(run.node_path()).len() > 0)
}

/// Checks a message against the input type that the workflow has declared. The message's author does not know the
/// type, so the error shows it.
fn check_message(spec: &NodeSpec, input: &NodeInput) -> Result<(), NodeError> {
    let (Some(schema), Some(_)) = (&spec.reads_schema, input.content()) else { return Ok(()) };
    for reader in &spec.reads {
        reader.check(input).map_err(|misfit| {
            let (name, wanted, example) = (&spec.name, reader.type_name(), example_of(&schema.to_json()));
            let misfit = misfit.message();
            NodeError::validation(format!(
                "workflow '{name}' takes a {wanted}: {misfit}; send a message such as {example}"
            ))
        })?;
    }
    Ok(())
}

impl<In: 'static, Out: 'static> TypedNode for Workflow<In, Out> {
    type In = In;
    type Out = Out;
}

impl<In, Out> fmt::Debug for Workflow<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workflow").field("name", &self.spec.name).field("graph", &self.graph).finish_non_exhaustive()
    }
}
