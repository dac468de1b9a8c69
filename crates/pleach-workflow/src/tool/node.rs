//! [`ToolNode`]: a tool as a node.
// R850–R853

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use pleach_context::engine::{RunHandle, ToolRequests, credential_question};
use pleach_context::telemetry::{OpenSpan, SpanEnd, execute_tool};
use pleach_context::{
    Context, Dynamic, Flow, Need, Node, NodeError, NodeInput, NodeKind, NodeSpec, RetryConfig, Tool, ToolResult,
    TypedNode, Yield,
};
use pleach_core::{BoxFuture, Content, Event, FunctionResponsePart, Map, Part};
use smol_str::SmolStr;

use super::arguments::arguments;
use super::call::{Called, ToolCall};
use crate::approval::{confirmation_question, credential_id, take_confirmation, take_credential};

/// A tool as a node, for graphs and for [`Context::run`].
///
/// The input holds the arguments: an object, a text that contains an object, or a single value. The single value is
/// the argument for the only parameter, or for the only required one. Missing required parameters are read from the
/// state. The tool's result is the output. If the tool requests a confirmation or a credential, the run pauses, and
/// the tool is called again with the answer.
///
/// ADK: `ToolNode`
#[derive(Clone)]
pub struct ToolNode {
    spec: NodeSpec,
    tool: Arc<dyn Tool>,
}

impl ToolNode {
    /// Returns a node that calls `tool` and has its name.
    pub fn new(tool: impl Tool) -> Self {
        Self { spec: spec(tool.name().into(), &tool), tool: Arc::new(tool) }
    }

    /// Sets a name for the node that differs from the tool's.
    #[must_use]
    pub fn name(mut self, name: impl Into<SmolStr>) -> Self {
        let NodeSpec { retry, timeout, .. } = self.spec;
        self.spec = spec(name.into(), &*self.tool);
        (self.spec.retry, self.spec.timeout) = (retry, timeout);
        self
    }

    /// Sets the retry policy.
    #[must_use]
    pub fn retry(mut self, policy: RetryConfig) -> Self {
        self.spec.retry = Some(policy);
        self
    }

    /// Sets the time limit of one attempt.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.spec.timeout = Some(limit);
        self
    }

    async fn call(&self, run: RunHandle, input: NodeInput) -> Result<Flow, NodeError> {
        // The call keeps its id in every attempt and on a resume, and no other call has this id.
        run.begin_tool_call(format!("{}:{}", run.invocation().invocation_id(), run.node_path()));
        let mut args = arguments(self.tool.declaration().map(|declared| &**declared), &run, input)?;
        take_confirmation(&run)?;
        take_credential(&run, None)?;
        let span = OpenSpan::new(execute_tool(&*self.tool, &run));
        let call = ToolCall { tool: &*self.tool, run: &run, callbacks: &() };
        let called = span.around(pin!(call.make(&mut args))).await;
        match &called {
            Ok(Called::Result(_)) => span.end(SpanEnd::Completed),
            Ok(Called::Asks(_)) => span.end(SpanEnd::Interrupted),
            Err(error) => span.fail(error.code()),
        }
        let item = match called? {
            Called::Asks(asked) => self.question(&run, &args, asked)?,
            // A call without an output is stored as an event as well, because a replay would not see it otherwise.
            Called::Result(result) => Yield::from(output(result)),
        };
        Ok(Flow::Done(Some(item)))
    }

    /// Makes the question for the tool's request.
    fn question(&self, ctx: &Context, args: &Map, asked: ToolRequests) -> Result<Yield, NodeError> {
        if let Some(confirmation) = asked.confirmation {
            // `temp:` values are never stored, so a question must not show them.
            let shown = args.iter().filter(|(name, _)| !name.starts_with("temp:"));
            let shown = shown.map(|(name, value)| (name.clone(), value.clone())).collect();
            let question = confirmation_question(ctx, self.tool.name(), shown, confirmation);
            return Ok(Yield::from(asked.terms.put_on_question(question)));
        }
        match asked.credential {
            Some(config) => Ok(Yield::from(credential_question(ctx, &config, &credential_id(ctx))?)),
            None => Ok(Yield::from(Event::new())),
        }
    }
}

/// Makes the event with a result: the value is the output, and media are the content.
fn output(ToolResult { value, media, .. }: ToolResult) -> Event {
    let event = if value.is_null() { Event::new() } else { Event::of(value) };
    if media.is_empty() {
        return event;
    }
    let part = |media: FunctionResponsePart| Part {
        inline_data: media.inline_data.map(Box::new),
        file_data: media.file_data.map(Box::new),
        ..Part::default()
    };
    event.with_content(Content::new("model", media.into_iter().map(part)))
}

fn spec(name: SmolStr, tool: &dyn Tool) -> NodeSpec {
    let mut spec = NodeSpec::new(name).kind(NodeKind::Tool).rerun_on_resume(true);
    spec.description = tool.description().to_owned();
    tool.faults(&mut spec.faults);
    spec
}

impl Node for ToolNode {
    fn spec(&self) -> &NodeSpec {
        &self.spec
    }

    fn run<'a>(&'a self, ctx: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
        Box::pin(self.call(RunHandle::of(ctx), input))
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        self.tool.needs(needs);
    }
}

impl TypedNode for ToolNode {
    type In = Dynamic;
    type Out = Dynamic;
}

impl fmt::Debug for ToolNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolNode")
            .field("name", &self.spec.name)
            .field("tool", &self.tool.name())
            .finish_non_exhaustive()
    }
}
