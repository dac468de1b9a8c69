//! Spans of what an invocation does, with the names and attributes of OpenTelemetry's GenAI conventions.
//!
//! Everything here is plain `tracing`: a span costs one atomic load where no subscriber wants it, and nothing is
//! formatted or allocated for it then. Spans never hold what a user or a model said: no messages, arguments, outputs or
//! error texts. `docs/tracing.md` has the table of spans and describes how an exporter puts all parts of an invocation that
//! paused into one trace.
//!
//! The engine makes the spans of invocations, node runs and tool calls; [`invoke_agent`] and [`generate_content`] are for
//! nodes that are agents or call models themselves, best inside of an [`OpenSpan`], which knows when it was cut off.

mod end;
mod span;
mod trace;

pub use end::{ModelUsage, OpenSpan, SpanEnd, end_model_call, end_span, fail_span};
pub use span::{ModelCall, execute_tool, generate_content, invocation, invoke_agent, node_run};
pub use trace::{InvocationTrace, SpanHook};
