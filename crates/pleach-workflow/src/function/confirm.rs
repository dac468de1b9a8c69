//! The confirmation gate of function nodes: a person approves the call before the body runs. Rules R130, R510, R920.

use std::sync::{Arc, LazyLock};

use pleach_context::{Context, NodeError, NodeInput, NodeSpec};
use pleach_core::{Event, Map, RequestInput};
use serde_json::{Value, json};

/// Says for a call whether it needs a confirmation.
pub(crate) type Condition = Arc<dyn Fn(&Context, &NodeInput) -> bool + Send + Sync>;

/// What the gate decides about a run.
pub(crate) enum Gate {
    /// The body runs; `resumed` says that a person has approved it.
    Open { resumed: bool },
    /// The call was rejected: this is its output.
    Rejected(Box<Event>),
    /// The question must be answered first.
    Ask(Box<RequestInput>),
}

/// The JSON schema of ADK's `ToolConfirmation`, as questions carry it.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "additionalProperties": false,
        "title": "ToolConfirmation",
        "type": "object",
        "description": "Represents a tool confirmation configuration.",
        "properties": {
            "hint": {"default": "", "title": "Hint", "type": "string"},
            "confirmed": {"default": false, "title": "Confirmed", "type": "boolean"},
            "payload": {"anyOf": [{}, {"type": "null"}], "default": null, "title": "Payload"},
        },
    })
});

/// Decides whether the body of a gated node may run.
///
/// # Errors
/// An answer that is no confirmation.
pub(crate) fn gate(
    condition: &Condition,
    spec: &NodeSpec,
    ctx: &Context,
    input: &NodeInput,
) -> Result<Gate, NodeError> {
    let id = format!("wf_tool_confirmation:{}", ctx.node_path());
    if let Some(answer) = ctx.resume_inputs().get(&id) {
        return Ok(if is_confirmed(answer)? {
            Gate::Open { resumed: true }
        } else {
            Gate::Rejected(Box::new(Event::of(json!({"error": "This tool call is rejected."}))))
        });
    }
    if !condition(ctx, input) {
        return Ok(Gate::Open { resumed: false });
    }
    let name = &spec.name;
    let question = RequestInput::ask(id, format!("Please approve or reject the tool call {name}()."))
        .with_payload(json!({"tool_name": name, "args": bound(spec, ctx, input)}))
        .with_schema(SCHEMA.clone());
    Ok(Gate::Ask(Box::new(question)))
}

/// What the body is called with, for the person to see: its input and its declared state.
fn bound(spec: &NodeSpec, ctx: &Context, input: &NodeInput) -> Map {
    // What is temporary is never stored, so no question shows it.
    let state = spec.state_params.iter().filter(|key| !key.starts_with("temp:"));
    let mut args: Map = state.filter_map(|key| Some((key.to_string(), ctx.state().value(key)?))).collect();
    args.insert("node_input".to_owned(), input.to_value());
    args
}

/// Whether an answer approves: an object with `confirmed`, or one that holds such an object as JSON text.
fn is_confirmed(answer: &Value) -> Result<bool, NodeError> {
    let malformed = || NodeError::data(format!("Invalid tool confirmation response: {answer}"));
    let fields = answer.as_object().ok_or_else(malformed)?;
    match fields.get("response").and_then(Value::as_str) {
        Some(text) if fields.len() == 1 => {
            let inner: Value = serde_json::from_str(text).map_err(|_| malformed())?;
            is_confirmed(&inner)
        }
        _ => match fields.get("confirmed") {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(confirmed)) => Ok(*confirmed),
            Some(_) => Err(malformed()),
        },
    }
}
