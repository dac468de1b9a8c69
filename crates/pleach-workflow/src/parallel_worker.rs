//! [`ParallelWorker`]: runs a node once per item of its input.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use pleach_context::{
    AnswerType, Context, Flow, History, InputKind, Need, Node, NodeError, NodeFault, NodeInput, NodeSpec, RetryConfig,
    RunOptions, TypedNode, json_or_text,
};
use pleach_core::{BoxFuture, Content, NodePath};
use serde_json::Value;

/// Runs a node once per item of its input and returns the list of outputs, in the order of the items.
///
/// The items run concurrently as dynamic children, each on its own sub-branch. A single value is treated as a list of
/// one. When an item asks a question, no further items start, the running ones finish, and the worker waits; a resume
/// runs only the remaining items. The first failing item fails the worker and cancels the others.
///
/// ADK: `ParallelWorker`.
// R801–R807
#[derive(Clone, Debug)]
pub struct ParallelWorker<N> {
    spec: NodeSpec,
    node: Arc<N>,
    max_workers: Option<usize>,
}

impl<N: Node> ParallelWorker<N> {
    /// Returns a worker with the node's name.
    pub fn new(node: N) -> Self {
        let mut spec = NodeSpec::new(node.spec().name.clone()).rerun_on_resume(true);
        spec.description.clone_from(&node.spec().description);
        spec.levels = node.spec().levels;
        spec.faults.clone_from(&node.spec().faults);
        Self { spec, node: Arc::new(node), max_workers: None }
    }

    /// Limits how many items run concurrently. Building a workflow with a limit of 0 fails.
    #[must_use]
    pub fn max_workers(mut self, workers: usize) -> Self {
        if workers < 1 {
            let message = format!(
                "max_parallel_workers of '{}' must be greater than or equal to 1. Leave `.max_workers(0)` out for no limit.",
                self.spec.name
            );
            self.spec.faults.push(NodeFault { rule: "max_workers_below_one", message });
        }
        self.max_workers = Some(workers);
        self
    }

    /// Sets the retry policy. Completed items do not run again.
    // R807
    #[must_use]
    pub fn retry(mut self, policy: RetryConfig) -> Self {
        self.spec.retry = Some(policy);
        self
    }

    /// Sets the time limit of one attempt, which includes all items.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.spec.timeout = Some(limit);
        self
    }

    async fn work(&self, ctx: &Context, items: Vec<NodeInput>) -> Result<Vec<Value>, NodeError> {
        let limit = self.max_workers.unwrap_or(usize::MAX);
        let mut outputs = vec![Value::Null; items.len()];
        let mut waiting = items.into_iter().enumerate();
        let mut running = FuturesUnordered::new();
        loop {
            // After a question no item starts; the running ones continue (R806).
            while running.len() < limit && ctx.interrupt_ids().is_empty() {
                let Some((index, item)) = waiting.next() else { break };
                let run = ctx.run_node(&*self.node, item, RunOptions::default().use_sub_branch(true));
                running.push(async move { (index, run.await) });
            }
            let Some(first) = running.next().await else { return Ok(outputs) };
            let mut ended = vec![first];
            while let Some(Some(next)) = running.next().now_or_never() {
                ended.push(next);
            }
            ended.sort_unstable_by_key(|(index, _)| *index);
            let mut failure = None;
            for (index, result) in ended {
                match result {
                    Ok(output) => outputs[index] = output.into_value(),
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
    }
}

/// Returns the items of an input: the items of a list, or the input itself if it is not a list.
///
/// A message with a JSON list is treated as that list. Any other message is passed on unchanged if the node reads
/// messages itself, or if the message is not all text.
fn items(takes: InputKind, input: NodeInput) -> Vec<NodeInput> {
    let value = match input.content() {
        Some(_) if takes == InputKind::Message => return vec![input],
        Some(content) if !is_text(content) => return vec![input],
        Some(content) => match json_or_text(&content.text()) {
            Value::Array(items) => Value::Array(items),
            _ if takes == InputKind::Typed => return vec![input],
            single => single,
        },
        None => input.into_value(),
    };
    match value {
        Value::Array(items) => items.into_iter().map(NodeInput::json).collect(),
        single => vec![NodeInput::json(single)],
    }
}

fn is_text(content: &Content) -> bool {
    !content.parts().is_empty() && content.parts().iter().all(|part| part.text.is_some())
}

impl<N: Node> Node for ParallelWorker<N> {
    fn spec(&self) -> &NodeSpec {
        &self.spec
    }

    fn run<'a>(&'a self, ctx: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
        Box::pin(
            async move { Ok(Flow::output(Value::Array(self.work(&ctx, items(self.node.spec().takes, input)).await?))) },
        )
    }

    fn fits(&self, path: &NodePath, history: &History) -> Result<(), NodeError> {
        history.children(path).try_for_each(|item| self.node.fits(item.path, history))
    }

    fn answer_type(&self, path: &[&str]) -> Option<AnswerType> {
        path.split_first().and_then(|(_, below)| self.node.answer_type(below))
    }

    fn spec_at(&self, path: &[&str]) -> Option<&NodeSpec> {
        match path.split_first() {
            None => Some(self.spec()),
            Some((_, below)) => self.node.spec_at(below),
        }
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        self.node.needs(needs);
    }
}

impl<N: TypedNode> TypedNode for ParallelWorker<N> {
    type In = Vec<N::In>;
    type Out = Vec<N::Out>;
}
