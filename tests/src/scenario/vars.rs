//! The variables of callbacks and hooks, in addition to their context.

use pleach::model::{LlmRequest, LlmResponse};
use pleach::{Content, Context, Event, Map, NodeError, Tool};
use serde_json::{Value, json};

use super::value::{content_value, text_of};

/// The variables of a body.
pub(crate) type Vars = Map;

/// Adds a variable.
pub(crate) fn with(mut vars: Vars, name: &str, value: Value) -> Vars {
    vars.insert(name.to_owned(), value);
    vars
}

/// The variables around an agent.
pub(crate) fn of_agent(ctx: &Context) -> Vars {
    with(Vars::new(), "agent", ctx.agent_name().into())
}

/// The variables before a call of a model.
pub(crate) fn of_request(ctx: &Context, request: &LlmRequest) -> Vars {
    let last = request.contents.last().map_or_else(String::new, |last| said(Some(last)));
    with(with(of_agent(ctx), "contents", request.contents.len().into()), "last_text", last.into())
}

/// The variables after the answer of a model.
pub(crate) fn of_response(ctx: &Context, response: &LlmResponse) -> Vars {
    let text = said(response.content.as_ref());
    with(with(of_agent(ctx), "text", text.into()), "partial", response.is_partial().into())
}

/// The variables around a tool call.
pub(crate) fn of_call(tool: &dyn Tool, args: &Map, ctx: &Context) -> Vars {
    with(with(of_agent(ctx), "tool", tool.name().into()), "args", args.clone().into())
}

/// An error as bodies see it.
pub(crate) fn shown_error(error: &NodeError) -> Value {
    json!({ "type": error.class(), "message": error.message() })
}

/// An event as bodies see it.
pub(crate) fn shown_event(event: &Event) -> Value {
    json!({
        "author": event.author(),
        "text": said(event.content()),
        "output": event.output(),
        "partial": event.is_partial(),
        "path": event.path().as_str(),
    })
}

/// The text of a content, or an empty text if there is no content.
pub(crate) fn said(content: Option<&Content>) -> String {
    content.map_or_else(String::new, |content| text_of(&content_value(content)))
}
