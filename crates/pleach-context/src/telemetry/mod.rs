//! Spans for the parts of an invocation, with the names and attributes of OpenTelemetry's GenAI conventions.
//!
//! Everything here is plain `tracing`. If no subscriber wants a span, it costs one atomic load, and nothing is
//! formatted or allocated for it. Spans never hold what a user or a model said: no messages, arguments, outputs or
//! error texts. `docs/tracing.md` has the table of spans and describes how an exporter puts all parts of an invocation
//! that paused into one trace.
//!
//! The engine makes the spans of invocations, node runs and tool calls. Nodes that are agents or call models make
//! their own spans with [`invoke_agent`] and [`generate_content`]. Put such a span into an [`OpenSpan`], which also
//! records when the work was cut off.

mod end;
mod span;
mod trace;

pub use end::{ModelUsage, OpenSpan, SpanEnd, end_model_call, end_span, fail_span};
pub use span::{ModelCall, execute_tool, generate_content, invocation, invoke_agent, node_run};
pub use trace::{InvocationTrace, SpanHook};
