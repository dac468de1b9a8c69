//! Running other nodes from inside a node, and asking questions in the middle of one.

use crate::engine::{Engine as _, NodeEnd, NodeResult, RunHandle};
use std::sync::Arc;

use pleach_core::{BoxFuture, Map, NodePath, RequestInput};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use smol_str::SmolStr;

use super::Context;
use super::park::LiveCall;
use crate::extract::{Feeds, warn_unread};
use crate::node::{Decode, read_answer};
use crate::{ChildFailure, Node, NodeError, NodeInput, RunOptions, TypedNode};

/// How deep runs may be nested: a child is polled inside its parent, on one stack. As many workflows as a graph may nest, and a
/// node in the innermost.
const MAX_DEPTH: u32 = 129;

impl Context {
    /// Runs a node as a child of this run and gives what it gives.
    ///
    /// Run ids follow the order of the calls, not of the polls, so `join!`, `try_join_all` and `FuturesUnordered` all
    /// work. When the child asks a question, this call parks: the body is dropped once no other call of it to
    /// the context is under way, and runs again from its start when an answer has come; children that had finished are not run again.
    ///
    /// A failure of the child can be caught. Once the body has gone past it (it sent an event or started another child), a
    /// resume gives the same failure again, with its class, status, ancestors and type, but without its causes (`source()`).
    ///
    /// # Errors
    /// A `ValueError` when this node has no `rerun_on_resume`, a `DynamicNodeFailError` when the child failed, a
    /// `ValidationError` when the input or the output does not fit, a `WorkflowConfigurationError` with the faults that
    /// `build` would report for this node.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the child.
    ///
    /// ADK: `Context.run_node`.
    // R701–R710
    pub fn run<'a, N, X, M, D>(
        &'a self,
        node: &'a N,
        input: X,
    ) -> BoxFuture<'a, Result<<N::Out as Decode<D>>::Value, NodeError>>
    where
        N: TypedNode,
        N::Out: Decode<D>,
        X: Serialize + Feeds<N::In, M>,
    {
        let run = pleach_core::to_json(input)
            .map(|input| self.run_node(node, input, RunOptions::default()))
            .map_err(|error| NodeError::validation(error.to_string()));
        Box::pin(async move { <N::Out as Decode<D>>::decode(run?.await?) })
    }

    /// Runs a node as a child of this run, untyped and with options. See [`Context::run`].
    ///
    /// # Errors
    /// As [`Context::run`]; also a `ValueError` for a name or run id that cannot be part of a path, and for a second
    /// child that is to give this run's output.
    pub fn run_node<'a>(
        &'a self,
        node: &'a dyn Node,
        input: impl Into<NodeInput>,
        options: RunOptions,
    ) -> BoxFuture<'a, Result<NodeInput, NodeError>> {
        if let Err(error) = self.check_child(node.spec(), &options).and_then(|()| self.check_call(&options)) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let raise_on_wait = options.raise_on_wait;
        let claims = options.use_as_output;
        let input = match input.into() {
            NodeInput::Json(value) => match self.bounded_input(value) {
                Ok(input) => input,
                Err(error) => return Box::pin(std::future::ready(Err(error))),
            },
            other => other,
        };
        let child = self.invocation().engine().scheduler().run_child(self, node, input, options);
        Box::pin(async move {
            // Counted from the first poll on: a call that is only kept for later must not hold up a pause.
            let live = LiveCall::enter(self);
            match child.await? {
                NodeEnd::Done(NodeResult { output, .. }) => {
                    if claims {
                        self.cell().claim_output(&output);
                    }
                    Ok(output)
                }
                NodeEnd::Waiting if !raise_on_wait => Ok(NodeInput::Null),
                NodeEnd::Waiting => Err(live.park().await),
                NodeEnd::Interrupted(ids) => {
                    self.engine().add_interrupts(&ids);
                    Err(live.park().await)
                }
            }
        })
    }

    fn bounded_input(&self, value: Arc<Value>) -> Result<NodeInput, NodeError> {
        // What is shared was bounded when it was made.
        match Arc::try_unwrap(value) {
            Ok(value) => pleach_core::bounded(value).map(NodeInput::json).ok_or_else(|| {
                NodeError::validation(format!(
                    "the input that node '{}' gives to a child nests more than 127 levels deep: flatten it, or give it as a text or a file",
                    self.node_name()
                ))
            }),
            Err(shared) => Ok(NodeInput::Json(shared)),
        }
    }

    pub(super) fn check_call(&self, options: &RunOptions) -> Result<(), NodeError> {
        if self.inner.depth >= MAX_DEPTH {
            let text = format!("{} runs above each other: maximum recursion depth exceeded", self.inner.depth);
            return Err(NodeError::new("RecursionError", text));
        }
        if !self.inner.rerun_on_resume {
            let node = self.node_name();
            return Err(NodeError::value(format!(
                "A node must have rerun_on_resume=True. Node '{node}' runs other nodes, which a resume finds again only by running it again: add it with `FunctionNode::new(\"{node}\", …).rerun_on_resume(true)`."
            )));
        }
        if let Some(id) = options.run_id.as_ref().filter(|id| id.chars().all(|digit| digit.is_ascii_digit())) {
            let node = self.node_path();
            return Err(NodeError::value(format!(
                "Explicit run_id \"{id}\" for a child of \"{node}\" must contain non-numeric characters: numbers are given by the runtime."
            )));
        }
        let mut cell = self.cell();
        self.pass_failures(&mut cell);
        if options.use_as_output {
            if cell.has_delegate {
                return Err(NodeError::value(format!(
                    "Node {} already has a use_as_output delegate.",
                    self.node_path()
                )));
            }
            cell.has_delegate = true;
            cell.delegated = true;
        }
        Ok(())
    }

    /// Asks a question in the middle of a node and gives the answer; until one has come, the call parks.
    ///
    /// The body is dropped as soon as all of its calls to the context that are under way are parked. Other work beside
    /// them (a request, a sleep) is cut off at that moment: await it first, or make it a child.
    ///
    /// The stored question has the JSON schema of `T`, so an answer that the schema refuses is not stored. One that only `T`
    /// refuses is stored; the question is then asked again, with a warning in the log that names the field. The node runs
    /// again from its start when an answer has come.
    ///
    /// # Errors
    /// A `ValueError` when this node has no `rerun_on_resume`.
    pub async fn ask<T: DeserializeOwned + JsonSchema>(
        &self,
        id: &str,
        message: impl Into<String>,
    ) -> Result<T, NodeError> {
        let mut question = RequestInput::ask(id, message);
        if let Some(schema) = json_schema_of::<T>() {
            question = question.with_schema(schema);
        }
        if let Some(answer) = self.resume_inputs().get(id) {
            match read_answer(answer) {
                Ok(answer) => return Ok(answer),
                Err(misfit) => warn_unread(self, &misfit),
            }
        }
        Err(self.wait_for_answer(question).await)
    }

    /// Asks a question with everything it can carry, and gives the answer as JSON. See [`Context::ask`].
    ///
    /// # Errors
    /// A `ValueError` when this node has no `rerun_on_resume`, or when the question has no id: without one a resumed
    /// run could not find its answer.
    pub async fn ask_with(&self, question: RequestInput) -> Result<Value, NodeError> {
        let Some(id) = question.interrupt_id.clone() else {
            return Err(NodeError::value("a question in the middle of a node needs an id"));
        };
        if let Some(answer) = self.resume_inputs().get(&id) {
            return Ok(answer.clone());
        }
        Err(self.wait_for_answer(question).await)
    }

    /// Asks, and waits until the body is dropped.
    async fn wait_for_answer(&self, question: RequestInput) -> NodeError {
        if !self.inner.rerun_on_resume {
            let node = self.node_name();
            return NodeError::value(format!(
                "Node '{node}' asks in the middle of its body, so it must run again when the answer comes: add it with `FunctionNode::new(\"{node}\", …).rerun_on_resume(true)`, or return a `RequestInput` instead."
            ));
        }
        let live = LiveCall::enter(self);
        match self.emit(question).await {
            Ok(()) => live.park().await,
            Err(error) => error,
        }
    }

    /// The run id that the next child of this name would get. ADK: `get_next_child_run_id`.
    #[must_use]
    pub fn next_child_run_id(&self, name: &str) -> String {
        let cell = self.cell();
        let used = cell.children.as_ref().and_then(|counters| counters.get(name)).copied().unwrap_or(0);
        (used + 1).to_string()
    }
}

impl RunHandle<'_> {
    /// Returns an error when too many runs are above each other.
    ///
    /// # Errors
    /// A `RecursionError`.
    pub fn check_depth(self) -> Result<(), NodeError> {
        if self.0.inner.depth <= MAX_DEPTH {
            return Ok(());
        }
        let text = format!("{} runs above each other: maximum recursion depth exceeded", self.0.inner.depth);
        Err(NodeError::new("RecursionError", text))
    }

    /// Fixes the path of the next child of this name.
    #[must_use]
    pub fn next_child_path(self, name: &SmolStr, run_id: Option<&str>) -> NodePath {
        if let Some(id) = run_id {
            self.0.cell().children.get_or_insert_default();
            return self.0.node_path().child(name, id);
        }
        let run = {
            let mut cell = self.0.cell();
            let counters = cell.children.get_or_insert_default();
            let counter = counters.entry(name.clone()).or_insert(0);
            *counter += 1;
            *counter
        };
        let mut text = String::with_capacity(self.0.node_path().as_str().len() + name.len() + 12);
        self.0.node_path().child_in(&mut text, name, run)
    }

    /// The ancestors whose output a child that is to give this run's output gives as well.
    #[must_use]
    pub fn output_for_of_child(self) -> std::sync::Arc<[NodePath]> {
        let own = std::iter::once(self.0.node_path().clone());
        own.chain(self.0.inner.output_for.iter().flat_map(|paths| paths.iter().cloned())).collect()
    }

    /// Whether this attempt has started children.
    #[must_use]
    pub fn has_children(self) -> bool {
        self.0.cell().children.is_some()
    }

    /// Adds questions that this run waits for.
    pub fn add_interrupts(self, ids: &[String]) {
        let mut cell = self.0.cell();
        for id in ids {
            cell.add_interrupt(id);
        }
    }

    /// Records what this run failed with, for [`Context::error`].
    pub fn set_error(self, failure: ChildFailure) {
        self.0.cell().error = Some(Box::new(failure));
    }
}

impl super::cell::RunCell {
    /// The output of a delegate is this run's output too, unless the run gave one itself.
    // R706, better than ADK
    fn claim_output(&mut self, output: &NodeInput) {
        if !self.output.is_set() && !output.is_null() {
            self.claimed_output = Some(output.clone());
        }
    }
}

/// The JSON schema of a type as questions carry it; `None` when it says nothing about the type.
#[must_use]
pub fn json_schema_of<T: JsonSchema>() -> Option<Value> {
    const SAYS: [&str; 8] = ["type", "properties", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"];
    let mut schema = schemars::schema_for!(T).to_value();
    let fields = schema.as_object_mut()?;
    if !has_optional_keys(fields) {
        fields.remove("$schema");
    }
    SAYS.iter().any(|keyword| fields.contains_key(*keyword)).then_some(schema)
}

/// Answers may leave such keys out. The dialect of the schema stays then: without it an absent key is read as null.
fn has_optional_keys(schema: &Map) -> bool {
    let required = schema.get("required").and_then(Value::as_array).map_or(0, Vec::len);
    schema.get("properties").and_then(Value::as_object).is_some_and(|properties| properties.len() > required)
}
