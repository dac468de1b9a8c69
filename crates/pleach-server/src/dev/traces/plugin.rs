//! [`TracePlugin`]: adds values to recorded spans.

use pleach_context::{CallbackContext, Hook, InvocationContext, Plugin};
use pleach_core::{Content, Event};
use pleach_model::{LlmRequest, LlmResponse};
use serde::Serialize;
use serde_json::Value;
use tracing::Span;

use super::Traces;
use crate::redact::clean;

/// The name of the plugin. It is not one of the app's own plugins.
pub(in crate::dev) const PLUGIN: &str = "pleach_server_traces";

/// The members of an event that do not come from the model's response.
const OF_EVENTS: &[&str] = &["actions", "author", "branch", "id", "invocation_id", "node_info", "timestamp"];

/// Adds these values to the spans of runs: the session, the requests and responses of models, and the ids of the events
/// that answer tool calls.
#[derive(Debug)]
pub(crate) struct TracePlugin(pub(crate) Traces);

impl TracePlugin {
    /// Calls `act` with the current span, if it is recorded.
    fn at_span(&self, act: impl FnOnce(&Traces, u64)) {
        if let Some(id) = Span::current().id() {
            act(&self.0, id.into_u64());
        }
    }
}

impl Plugin for TracePlugin {
    fn name(&self) -> &str {
        PLUGIN
    }

    // The plugin is an observer, so that traces show requests and responses as the app's own plugins have left them.
    fn observes(&self) -> bool {
        true
    }

    fn before_run<'a>(&'a self, ic: &'a InvocationContext) -> Hook<'a, Option<Content>> {
        Some(Box::pin(async move {
            self.at_span(|traces, span| traces.spans().belongs_to(span, ic.session_key()));
            Ok(None)
        }))
    }

    fn on_event<'a>(&'a self, ic: &'a InvocationContext, event: &'a Event) -> Hook<'a, Option<Event>> {
        event.function_responses().next()?;
        let id = event.id().to_string();
        for answer in event.function_responses().filter_map(|answer| answer.id.as_deref()) {
            self.0.spans().answered_by(answer, &id, ic.session_key());
        }
        None
    }

    fn before_model<'a>(
        &'a self,
        _: &'a CallbackContext,
        request: &'a mut LlmRequest,
    ) -> Hook<'a, Option<LlmResponse>> {
        Some(Box::pin(async move {
            self.at_span(|traces, span| {
                if let Some(text) = shown(&*request) {
                    traces.spans().asks(span, text);
                }
            });
            Ok(None)
        }))
    }

    fn after_model<'a>(&'a self, _: &'a CallbackContext, response: &'a LlmResponse) -> Hook<'a, Option<LlmResponse>> {
        if response.is_partial() {
            return None;
        }
        Some(Box::pin(async move {
            self.at_span(|traces, span| {
                let mut event = Event::new();
                response.clone().apply_to(&mut event);
                if let Some(text) = shown(&event) {
                    traces.spans().answers(span, text);
                }
            });
            Ok(None)
        }))
    }
}

/// Returns a request or a response as JSON text without media, headers and credentials.
fn shown(value: &impl Serialize) -> Option<String> {
    let mut value = serde_json::to_value(value).ok()?;
    if let Value::Object(map) = &mut value {
        map.retain(|key, _| !OF_EVENTS.contains(&key.as_str()));
        if let Some(Value::Object(config)) = map.get_mut("config") {
            config.remove("http_options");
        }
    }
    drop_media(&mut value);
    clean(&mut value);
    Some(value.to_string())
}

/// Replaces the bytes of media with their length.
fn drop_media(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_media),
        Value::Object(map) => {
            for (key, member) in map.iter_mut() {
                match member.get_mut("data") {
                    Some(data) if key == "inline_data" => {
                        *data = format!("<{} characters of base64>", data.as_str().map_or(0, str::len)).into();
                    }
                    _ => drop_media(member),
                }
            }
        }
        _ => {}
    }
}
