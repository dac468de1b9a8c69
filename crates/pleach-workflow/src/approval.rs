//! Questions for a confirmation or a credential before a call, and their answers.
// R129, R130, R920, R931

use std::sync::LazyLock;

use pleach_context::engine::{RunHandle, SentCredential, accept_credential, sent_credential};
use pleach_context::{Context, NodeError};
use pleach_core::{AuthConfig, Event, Map, REQUEST_CREDENTIAL, RequestInput, ToolConfirmation};
use serde_json::{Value, json};

/// The JSON schema of ADK's `ToolConfirmation`, as questions store it.
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

/// Returns the result of a rejected call.
pub(crate) fn rejected() -> Value {
    json!({"error": "This tool call is rejected."})
}

fn confirmation_id(ctx: &Context) -> String {
    format!("wf_tool_confirmation:{}", ctx.node_path())
}

/// Returns the id of a run's request for a credential.
pub(crate) fn credential_id(ctx: &Context) -> String {
    format!("wf_auth:{}", ctx.node_path())
}

/// Returns the question that asks to approve a call.
pub(crate) fn confirmation_question(ctx: &Context, tool: &str, args: Map, asked: ToolConfirmation) -> RequestInput {
    let message =
        if asked.hint.is_empty() { format!("Please approve or reject the tool call {tool}().") } else { asked.hint };
    let mut payload = json!({"tool_name": tool, "args": args});
    if let Some(own) = asked.payload.filter(|own| !own.is_null()) {
        payload["confirmation_payload"] = own;
    }
    RequestInput::ask(confirmation_id(ctx), message).with_payload(payload).with_schema(CONFIRMATION.clone())
}

/// Puts the answer to the confirmation question on the context, and returns it.
///
/// # Errors
/// A `WorkflowDataError` for an answer that is not a confirmation.
pub(crate) fn take_confirmation(run: &RunHandle) -> Result<Option<ToolConfirmation>, NodeError> {
    let id = confirmation_id(run);
    let Some(answer) = run.resume_inputs().get(&id).filter(|answer| !answer.is_null()) else { return Ok(None) };
    // Error texts are stored, so the answer is left out.
    let confirmation = ToolConfirmation::from_response(answer).map_err(|_| {
        NodeError::data(format!("The answer to {id} is not a tool confirmation."))
            .with_hint("answer it with a `ToolConfirmation`, or with true or false")
    })?;
    run.set_tool_confirmation(confirmation.clone());
    Ok(Some(confirmation))
}

/// Accepts the credential that a client sent to this run, for `config` or the config of the stored request. Returns
/// `true` if there was one.
///
/// A credential that was sent to another process is lost: the run asks again.
///
/// # Errors
/// A `WorkflowDataError` if the answer is not a credential, or if its request is not found.
pub(crate) fn take_credential(ctx: &Context, config: Option<&AuthConfig>) -> Result<bool, NodeError> {
    let id = credential_id(ctx);
    let Some(SentCredential::Answer(answer)) = sent_credential(ctx, &id) else { return Ok(false) };
    let requested = match config {
        Some(config) => config.clone(),
        None => ctx.invocation().events().iter().rev().find_map(|event| requested(event, &id)).ok_or_else(|| {
            let path = ctx.node_path();
            NodeError::data(format!("Cannot resume auth for tool node {path}: no AuthConfig found for interrupt {id}."))
                .with_hint("answer with the auth config of the credential request")
        })?,
    };
    accept_credential(ctx, &requested, &answer, &id)?;
    Ok(true)
}

/// Returns the config of the credential request with this id, if the event is that request. A user's event never is.
fn requested(event: &Event, id: &str) -> Option<AuthConfig> {
    let mut calls = event.function_calls().filter(|_| !event.is_from_user());
    let call = calls.find(|call| call.name.as_deref() == Some(REQUEST_CREDENTIAL) && call.id.as_deref() == Some(id))?;
    call.args.as_ref()?.get("authConfig").cloned().map(AuthConfig::new)
}
