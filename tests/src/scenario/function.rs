//! Function nodes, whose handler binds the parameters and plays the steps.

use std::sync::Arc;

use anyhow::Context as _;
use pleach::handler::{IntoYield, Takes};
use pleach::{
    Context, Dynamic, Field, FieldType, Flow, FromContext, FunctionNode, Input, Map, Node, NodeError, NodeInput,
    ParallelWorker, Schema, Yield, json_or_text,
};
use serde_json::Value;

use super::described::{Described, Refusal};
use super::env::{Env, Failure};
use super::run::{End, play};
use super::step::{Step, emits, steps};
use super::value::input_value;
use super::world::World;

/// The data that every run of a function node needs.
struct Body {
    world: Arc<World>,
    name: String,
    steps: Vec<Step>,
    emits: bool,
    input_type: Option<FieldType>,
    params: Vec<Param>,
}

/// A parameter that is read from the state.
struct Param {
    name: String,
    kind: Option<FieldType>,
    default: Option<Value>,
}

/// The end of a body. A plain function that returns nothing is distinguished from a generator that ends.
enum Ending {
    Plain(Option<Yield>),
    Emitting(Option<Yield>),
}

/// The marker of [`Ending`] among the results of handlers.
enum EndingMarker {}

impl IntoYield<EndingMarker> for Ending {
    type Out = Dynamic;

    fn into_flow(self) -> Result<Flow, NodeError> {
        Ok(Flow::Done(match self {
            Self::Plain(last) => last,
            Self::Emitting(last) => last.or(Some(Yield::Output(Value::Null))),
        }))
    }
}

/// Builds a function node.
pub(super) fn build(described: &Described<'_>, world: &Arc<World>) -> Result<Arc<dyn Node>, Refusal> {
    let body = Arc::new(Body::read(described, world)?);
    let names: Vec<String> = body.params.iter().map(|param| param.name.clone()).collect();
    if matches!(body.input_type, Some(FieldType::Str)) {
        let handler = move |ctx: Context, TextInput(input): TextInput| Arc::clone(&body).run(ctx, input);
        return finish(described, FunctionNode::new(described.name(), handler).state_params(names));
    }
    let handler = move |ctx: Context, Input(input): Input<NodeInput>| Arc::clone(&body).run(ctx, input);
    finish(described, FunctionNode::new(described.name(), handler).state_params(names))
}

/// Builds a function node whose parameters, including the node's input, are the fields of its input.
pub(super) fn build_called(described: &Described<'_>, world: &Arc<World>) -> Result<Arc<dyn Node>, Refusal> {
    let body = Arc::new(Body::read(described, world)?);
    let input = Field::new(NODE_INPUT, body.input_type.clone().unwrap_or(FieldType::Any));
    let params = body.params.iter().map(|param| {
        let field = Field::new(param.name.as_str(), param.kind.clone().unwrap_or(FieldType::Any));
        if param.default.is_some() { field.optional() } else { field }
    });
    let schema = Schema::model(described.name(), std::iter::once(input).chain(params));
    let handler = move |ctx: Context, Input(args): Input<Map>| Arc::clone(&body).run_called(ctx, args);
    finish(described, FunctionNode::new(described.name(), handler).input_schema(schema))
}

/// The parameter that holds a node's input.
const NODE_INPUT: &str = "node_input";

/// The input of a node that is declared to take a text. The body coerces it.
struct TextInput(NodeInput);

impl FromContext for TextInput {
    type Wants = Takes<String>;

    fn from_context(_: &Context, input: &mut NodeInput) -> Result<Self, NodeError> {
        Ok(Self(std::mem::take(input)))
    }
}

/// Adds the described settings.
fn finish<In: 'static>(
    described: &Described<'_>,
    mut node: FunctionNode<In, Dynamic>,
) -> Result<Arc<dyn Node>, Refusal> {
    if let Some(rerun) = described.flag("rerun_on_resume")? {
        node = node.rerun_on_resume(rerun);
    }
    if described.has("require_confirmation") {
        node = node.require_confirmation();
    }
    if let Some(wait) = described.flag("wait_for_output")? {
        node = node.wait_for_output(wait);
    }
    if let Some(policy) = described.retry()? {
        node = node.retry(policy);
    }
    if let Some(limit) = described.timeout()? {
        node = node.timeout(limit);
    }
    if let Some(schema) = described.schema("input_schema")? {
        node = node.input_schema(schema);
    }
    if let Some(schema) = described.schema("output_schema")? {
        node = node.output_schema(schema);
    }
    if let Some(schema) = described.schema("state_schema")? {
        node = node.state_schema(schema);
    }
    if !described.has("parallel_worker") {
        return Ok(Arc::new(node));
    }
    let worker = ParallelWorker::new(node);
    Ok(match described.get("max_parallel_workers").and_then(Value::as_u64) {
        Some(workers) => Arc::new(worker.max_workers(usize::try_from(workers).unwrap_or(usize::MAX))),
        None => Arc::new(worker),
    })
}

impl Body {
    fn read(described: &Described<'_>, world: &Arc<World>) -> Result<Self, Refusal> {
        let steps = described.get("steps").map_or_else(|| Ok(Vec::new()), steps)?;
        let params = described.get("params").and_then(Value::as_array).into_iter().flatten();
        Ok(Self {
            world: Arc::clone(world),
            name: described.name().to_owned(),
            emits: emits(&steps),
            steps,
            input_type: described.get("input_type").map(field_type).transpose()?,
            params: params.map(Param::read).collect::<Result<_, _>>()?,
        })
    }

    async fn run(self: Arc<Self>, ctx: Context, input: NodeInput) -> Result<Ending, NodeError> {
        let input = self.bind_input(&input)?;
        let state = ctx.clone();
        self.play(ctx, input, |name| state.state().value(name)).await
    }

    async fn run_called(self: Arc<Self>, ctx: Context, args: Map) -> Result<Ending, NodeError> {
        let input = args.get(NODE_INPUT).cloned().unwrap_or_default();
        self.play(ctx, input, |name| args.get(name).cloned()).await
    }

    async fn play(
        &self,
        ctx: Context,
        input: Value,
        given: impl Fn(&str) -> Option<Value>,
    ) -> Result<Ending, NodeError> {
        let mut env = Env::of_run(Arc::clone(&self.world), ctx, input);
        for param in &self.params {
            env.keep(Some(&param.name), param.bind(given(&param.name), &self.name)?);
        }
        let end = play(&self.steps, &mut env).await.map_err(|Failure { error, .. }| error)?;
        let last = match end {
            End::Through | End::Stopped | End::Returned(Value::Null) => None,
            End::Returned(value) => Some(Yield::Output(value)),
            End::ReturnedEvent(event) => Some(Yield::Event(event)),
        };
        Ok(if self.emits { Ending::Emitting(last) } else { Ending::Plain(last) })
    }

    /// The node input, coerced to its declared type.
    // R504
    fn bind_input(&self, input: &NodeInput) -> Result<Value, NodeError> {
        let Some(kind) = &self.input_type else { return Ok(input_value(input)) };
        let given = match (input.content(), kind) {
            (Some(content), FieldType::Str) => Value::String(content.text()),
            (Some(content), _) => json_or_text(&content.text()),
            (None, _) => input.to_value(),
        };
        kind.coerce(&given).map_err(|reason| NodeError::validation(format!("node_input: {reason}")))
    }
}

impl Param {
    fn read(value: &Value) -> anyhow::Result<Self> {
        let name =
            value.get("name").and_then(Value::as_str).with_context(|| format!("parameter {value} has no name"))?;
        Ok(Self {
            name: name.to_owned(),
            kind: value.get("type").map(field_type).transpose()?,
            default: value.get("default").cloned(),
        })
    }

    /// The given value, coerced to its type, or the unchanged default if no value is given.
    // R502
    fn bind(&self, given: Option<Value>, function: &str) -> Result<Value, NodeError> {
        let name = &self.name;
        match (given, &self.kind, &self.default) {
            (Some(value), Some(kind), _) => {
                kind.coerce(&value).map_err(|reason| NodeError::validation(format!("{name}: {reason}")))
            }
            (Some(value), None, _) => Ok(value),
            (None, _, Some(default)) => Ok(default.clone()),
            (None, _, None) => Err(NodeError::data(format!(
                "Missing value for parameter \"{name}\" of function \"{function}\". It was not found in state and has no default value."
            ))),
        }
    }
}

fn field_type(value: &Value) -> anyhow::Result<FieldType> {
    value.as_str().and_then(FieldType::parse).with_context(|| format!("unknown type {value}"))
}
