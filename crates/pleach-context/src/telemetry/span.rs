//! The spans. Their names are static, because `tracing` requires it; `otel.name` holds the name that exporters show.

use pleach_core::EventId;
use tracing::field::Empty;
use tracing::{Level, Span, info_span, level_enabled};

use super::InvocationTrace;
use crate::{Context, InvocationContext, NodeKind, NodeSpec, Tool};

/// Like `info_span!`, but first checks, with one atomic load, whether there is a subscriber. If a dependency turns on
/// tracing's feature `log`, `info_span!` would evaluate the fields even without a subscriber.
macro_rules! span {
    ($($parts:tt)*) => {
        if level_enabled!(Level::INFO) { info_span!(target: "pleach", $($parts)*) } else { Span::none() }
    };
}

/// The span of an invocation that starts or resumes.
///
/// A root workflow runs inside this span and has no span of its own. ADK: `record_invocation`
#[must_use]
pub fn invocation(ic: &InvocationContext, root: &NodeSpec, resumed: bool) -> Span {
    span!(
        "invocation",
        otel.name = format_args!("invoke_workflow {}", root.name),
        otel.status_code = Empty,
        gen_ai.operation.name = "invoke_workflow",
        gen_ai.workflow.name = root.name.as_str(),
        gen_ai.conversation.id = ic.session_id().as_str(),
        gcp.vertex.agent.invocation_id = ic.invocation_id().as_str(),
        pleach.trace_id = InvocationTrace::new(ic.session_key(), ic.invocation_id(), resumed).trace_id_hex(),
        pleach.resumed = resumed,
        pleach.questions = Empty,
        pleach.outcome = Empty,
        error.type = Empty,
    )
}

/// The span of one attempt of a node run. Its parent is the current span, which is the span of the run above it.
///
/// ADK: `start_as_current_node_span`
#[inline]
#[must_use]
pub fn node_run(spec: &NodeSpec, ctx: &Context) -> Span {
    if spec.kind == NodeKind::Workflow { workflow_run(ctx) } else { invoke_node(ctx) }
}

fn workflow_run(ctx: &Context) -> Span {
    if ctx.inner.parent.as_ref().is_none_or(|parent| parent.node_path().is_root()) {
        return Span::none();
    }
    span!(
        "invoke_workflow",
        otel.name = format_args!("invoke_workflow {}", ctx.node_name()),
        otel.status_code = Empty,
        gen_ai.operation.name = "invoke_workflow",
        gen_ai.workflow.name = ctx.node_name(),
        gen_ai.workflow.nested = true,
        gen_ai.conversation.id = ctx.session().id().as_str(),
        gcp.vertex.agent.invocation_id = ctx.invocation_id(),
        pleach.node.path = ctx.node_path().as_str(),
        pleach.node.attempt = ctx.attempt_count(),
        pleach.outcome = Empty,
        error.type = Empty,
    )
}

fn invoke_node(ctx: &Context) -> Span {
    span!(
        "invoke_node",
        otel.name = format_args!("invoke_node {}", ctx.node_name()),
        otel.status_code = Empty,
        gen_ai.operation.name = "invoke_node",
        gen_ai.conversation.id = ctx.session().id().as_str(),
        gcp.vertex.agent.invocation_id = ctx.invocation_id(),
        pleach.node.path = ctx.node_path().as_str(),
        pleach.node.attempt = ctx.attempt_count(),
        pleach.outcome = Empty,
        error.type = Empty,
    )
}

/// The span of a tool call, including the hooks of plugins. ADK: `record_tool_execution`
#[must_use]
pub fn execute_tool(tool: &dyn Tool, ctx: &Context) -> Span {
    span!(
        "execute_tool",
        otel.name = format_args!("execute_tool {}", tool.name()),
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool.name(),
        gen_ai.tool.description = tool.description(),
        gen_ai.tool.type = "function",
        gen_ai.tool.call.id = ctx.function_call_id().as_deref(),
        gen_ai.conversation.id = ctx.session().id().as_str(),
        gcp.vertex.agent.invocation_id = ctx.invocation_id(),
        pleach.outcome = Empty,
        error.type = Empty,
    )
}

/// The span of an agent's run. ADK: `record_agent_invocation`
#[must_use]
pub fn invoke_agent(name: &str, description: &str, ctx: &Context) -> Span {
    span!(
        "invoke_agent",
        otel.name = format_args!("invoke_agent {name}"),
        otel.status_code = Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = name,
        gen_ai.agent.description = description,
        gen_ai.conversation.id = ctx.session().id().as_str(),
        gcp.vertex.agent.invocation_id = ctx.invocation_id(),
        pleach.node.path = ctx.node_path().as_str(),
        pleach.node.attempt = ctx.attempt_count(),
        pleach.outcome = Empty,
        error.type = Empty,
    )
}

/// The parameters of a model call that its span records.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelCall<'a> {
    /// The name of the model.
    pub model: &'a str,
    /// The name of the agent that calls the model.
    pub agent: &'a str,
    /// The provider of the model, such as `gcp.gemini` or `openai`.
    pub provider: Option<&'a str>,
    /// The id of the event that will hold the answer.
    pub event_id: Option<&'a EventId>,
    /// The maximum number of tokens in the answer.
    pub max_tokens: Option<u64>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// The nucleus sampling threshold (top-p).
    pub top_p: Option<f64>,
}

/// The span of a model call. [`end_model_call`](super::end_model_call) records the token usage of the answer on it.
///
/// ADK: `use_inference_span`
#[must_use]
pub fn generate_content(call: &ModelCall<'_>, ctx: &Context) -> Span {
    span!(
        "generate_content",
        otel.name = format_args!("generate_content {}", call.model),
        otel.kind = "client",
        otel.status_code = Empty,
        gen_ai.operation.name = "generate_content",
        gen_ai.provider.name = call.provider,
        gen_ai.request.model = call.model,
        gen_ai.request.max_tokens = call.max_tokens,
        gen_ai.request.temperature = call.temperature,
        gen_ai.request.top_p = call.top_p,
        gen_ai.agent.name = call.agent,
        gen_ai.conversation.id = ctx.session().id().as_str(),
        gcp.vertex.agent.invocation_id = ctx.invocation_id(),
        gcp.vertex.agent.event_id = call.event_id.map(display),
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.reasoning.output_tokens = Empty,
        pleach.outcome = Empty,
        error.type = Empty,
    )
}
