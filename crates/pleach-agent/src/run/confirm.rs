//! Requests of tool calls for a confirmation or a credential.
// L110, L115–L118

use pleach_context::engine::{RunHandle, SentCredential, accept_credential, credential_question, sent_credential};
use pleach_context::{ConfirmationTerms, NodeError};
use pleach_core::{
    AuthConfig, Content, Event, FunctionCall, Map, Part, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, ToolConfirmation,
};
use pleach_model::CLIENT_CALL_ID_PREFIX;
use serde_json::{Value, json};

use super::AgentRun;
use super::call_numbers::PendingCall;

/// Puts the answers that a call has waited for on the context of the call.
///
/// # Errors
/// A `ValidationError` if the answer to a confirmation request is not a confirmation, or the error of an answer that is
/// not a credential.
pub(super) fn give_answers(pending: &PendingCall, handle: &RunHandle) -> Result<(), NodeError> {
    if let Some(answer) = &pending.confirmation {
        let confirmation = ToolConfirmation::from_response(answer).map_err(|_| {
            let id = pending.call.id.as_deref().unwrap_or_default();
            NodeError::validation(format!(
                "The answer to the confirmation request for call {id} is not a confirmation."
            ))
            .with_hint("answer it with {\"confirmed\": true} or {\"confirmed\": false}")
        })?;
        handle.set_tool_confirmation(confirmation);
    }
    for id in &pending.credentials {
        if let Some(SentCredential::Answer(answer)) = sent_credential(handle, id)
            && let Some(config) = requested_config(handle, id)
        {
            accept_credential(handle, &config, &answer, id)?;
        }
    }
    Ok(())
}

/// Returns the config of the credential request with this id.
fn requested_config(handle: &RunHandle, id: &str) -> Option<AuthConfig> {
    handle.invocation().with_events(|events| {
        events.iter().rev().filter(|event| !event.is_from_user()).find_map(|event| {
            let mut calls = event.function_calls();
            let call = calls
                .find(|call| call.id.as_deref() == Some(id) && call.name.as_deref() == Some(REQUEST_CREDENTIAL))?;
            call.args.as_ref()?.get("authConfig").cloned().map(AuthConfig::new)
        })
    })
}

impl AgentRun<'_> {
    /// Builds the event that requests confirmations of calls.
    // L115
    pub(super) fn confirmation_event(
        &self,
        asked: &[(&FunctionCall, ToolConfirmation, ConfirmationTerms)],
    ) -> Result<Event, NodeError> {
        let ids = &self.handle.invocation().services().ids;
        let mut long_running = Vec::new();
        let mut parts = Vec::new();
        for (call, confirmation, terms) in asked {
            let id = format!("{CLIENT_CALL_ID_PREFIX}{}", ids.uuid());
            let original = json!({"id": call.id, "name": call.name, "args": call.args.clone().unwrap_or_default()});
            let confirmation = pleach_core::to_camel(confirmation).map_err(|error| {
                NodeError::validation(format!("a request for a confirmation has no JSON form: {error}"))
            })?;
            let mut args = Map::from_iter([
                ("originalFunctionCall".to_owned(), original),
                ("toolConfirmation".to_owned(), confirmation),
            ]);
            terms.put_on(&mut args);
            parts.push(Part::function_call(FunctionCall::new(id.clone(), REQUEST_CONFIRMATION, args)));
            long_running.push(id);
        }
        Ok(Event::new().with_content(Content::new("model", parts)).with_long_running(long_running))
    }

    /// Builds the event that requests a credential for a call.
    // L118
    pub(super) fn credential_event(&self, call: &str, config: &AuthConfig) -> Result<Event, NodeError> {
        let id = format!("{CLIENT_CALL_ID_PREFIX}{}", self.handle.invocation().services().ids.uuid());
        let mut event = credential_question(self.handle, config, &id)?;
        let mut content = event.content().cloned().unwrap_or_default();
        content.role = Some("model".into());
        for part in content.parts.iter_mut().flatten().filter_map(|part| part.function_call.as_mut()) {
            part.args.get_or_insert_default().insert("functionCallId".to_owned(), Value::from(call));
        }
        event.set_content(Some(content));
        Ok(event)
    }
}
