//! What a run asks for before its body counts, a confirmation or a credential, and the answers.
// R129, R130, R920, R931

use std::sync::LazyLock;

use pleach_context::engine::{Engine as _, SentCredential, accept_credential, sent_credential};
use pleach_context::{Context, NodeError};
use pleach_core::{AuthConfig, Event, Map, REQUEST_CREDENTIAL, RequestInput, ToolConfirmation};
use serde_json::{Value, json};

/// The JSON schema of ADK's `ToolConfirmation`, as questions carry it.
static CONFIRMATION: LazyLock<Value> = LazyLock::new(|| {
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

/// What a rejected call gives.
pub(crate) fn rejected() -> Value {
    json!({"error": "This tool call is rejected."})
}

fn confirmation_id(ctx: &Context) -> String {
    format!("wf_tool_confirmation:{}", ctx.node_path())
}

/// The id of a run's request for a credential.
pub(crate) fn credential_id(ctx: &Context) -> String {
    format!("wf_auth:{}", ctx.node_path())
}

/// The question whether a call may be made.
pub(crate) fn confirmation_question(ctx: &Context, tool: &str, args: Map, asked: ToolConfirmation) -> RequestInput {
    let message =
        if asked.hint.is_empty() { format!("Please approve or reject the tool call {tool}().") } else { asked.hint };
    let mut payload = json!({"tool_name": tool, "args": args});
    if let Some(own) = asked.payload.filter(|own| !own.is_null()) {
        payload["confirmation_payload"] = own;
    }
    RequestInput::ask(confirmation_id(ctx), message).with_payload(payload).with_schema(CONFIRMATION.clone())
}

/// Puts the answer to the question on the context, and gives it.
///
/// # Errors
/// A `WorkflowDataError` for an answer that is no confirmation.
pub(crate) fn take_confirmation(ctx: &Context) -> Result<Option<ToolConfirmation>, NodeError> {
    let id = confirmation_id(ctx);
    let Some(answer) = ctx.resume_inputs().get(&id).filter(|answer| !answer.is_null()) else { return Ok(None) };
    // The answer is not shown: error texts are stored.
    let confirmation = ToolConfirmation::from_response(answer)
        .map_err(|_| NodeError::data(format!("The answer to {id} is no tool confirmation.")))?;
    ctx.engine().set_tool_confirmation(confirmation.clone());
    Ok(Some(confirmation))
}

/// Takes over the credential that the run was sent, if it was, for `config` or what the request asked for; says whether it was.
///
/// One that was sent to another process is gone: the run asks again.
///
/// # Errors
/// A `WorkflowDataError` when the answer is no credential, or when nothing says what for.
pub(crate) fn take_credential(ctx: &Context, config: Option<&AuthConfig>) -> Result<bool, NodeError> {
    let id = credential_id(ctx);
    let Some(SentCredential::Answer(answer)) = sent_credential(ctx, &id) else { return Ok(false) };
    let requested = match config {
        Some(config) => config.clone(),
        None => ctx.invocation().events().iter().rev().find_map(|event| requested(event, &id)).ok_or_else(|| {
            let path = ctx.node_path();
            NodeError::data(format!("Cannot resume auth for tool node {path}: no AuthConfig found for interrupt {id}."))
        })?,
    };
    accept_credential(ctx, &requested, &answer, &id)?;
    Ok(true)
}

/// What the request of this id, if the event is it, asked for. A user's message asks for nothing.
fn requested(event: &Event, id: &str) -> Option<AuthConfig> {
    let mut calls = event.function_calls().filter(|_| !event.is_from_user());
    let call = calls.find(|call| call.name.as_deref() == Some(REQUEST_CREDENTIAL) && call.id.as_deref() == Some(id))?;
    call.args.as_ref()?.get("authConfig").cloned().map(AuthConfig::new)
}
