//! Asks a client for a credential from inside a run, and reads the answer.

use pleach_auth::{CredentialQuestion, SignIn, accept, credential_key};
use pleach_core::{AuthConfig, Event, Map};
use pleach_schema::unwrap_response;
use serde_json::Value;

use super::sent::REDACTED;
use crate::{Context, NodeError};

/// The client's answer to a request for a credential.
#[derive(Clone, PartialEq)]
pub enum SentCredential {
    /// The answer, for [`accept_credential`].
    Answer(Value),
    /// The answer was sent to another process and is not stored, so the run must ask again.
    Gone,
}

impl std::fmt::Debug for SentCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SentCredential")
    }
}

/// Makes the event that asks the client for a credential, with the question id `id`. Also sets the state that the
/// answer is checked against; see [`CredentialQuestion`].
///
/// # Errors
/// A `ValueError` if an OAuth2 config lacks what a sign-in needs.
pub fn credential_question(ctx: &Context, config: &AuthConfig, id: &str) -> Result<Event, NodeError> {
    let question = CredentialQuestion::new(config, id, &*ctx.inner.invocation.services().ids)?;
    for (key, value) in question.state {
        ctx.reserved_state().set(key, value)?;
    }
    Ok(question.event)
}

/// Returns the client's answer to the request under the id `id`; `None` if it has not answered.
///
/// A key that consists of digits is returned as the string that the client typed. Read as JSON, it would become a
/// number.
pub fn sent_credential(ctx: &Context, id: &str) -> Option<SentCredential> {
    let ic = &ctx.inner.invocation;
    let sent = &ic.services().sent_credentials;
    if let Some(sent) = sent.get(ic.session_key(), ic.invocation_id(), id) {
        return Some(SentCredential::Answer(digits(&sent).unwrap_or_else(|| unwrap_response(&sent))));
    }
    let stored = ctx.resume_inputs().get(id).filter(|answer| !answer.is_null()).cloned();
    // A run without a path has no questions of its own.
    let stored = stored.or_else(|| {
        let response = ic.with_events(|events| events.iter().rev().find_map(|event| response_to(event, id)))?;
        Some(unwrap_response(&response)).filter(|answer| !answer.is_null())
    })?;
    if stored == REDACTED {
        return Some(SentCredential::Gone);
    }
    // The answer is stored in plain text, so another program stored it.
    let events = ctx.invocation().events();
    let response = || events.iter().rev().find_map(|event| response_to(event, id));
    let text = if stored.is_number() { response().and_then(|response| digits(&response)) } else { None };
    Some(SentCredential::Answer(text.unwrap_or(stored)))
}

/// Returns the answer as a string if it is text that JSON would read as a number.
fn digits(response: &Map) -> Option<Value> {
    let text = response.get("result").filter(|text| text.is_string())?;
    unwrap_response(response).is_number().then(|| text.clone())
}

fn response_to(event: &Event, id: &str) -> Option<Map> {
    let mut responses = event.function_responses().filter(|response| response.id.as_deref() == Some(id));
    responses.next()?.response.clone()
}

/// Accepts the client's answer to the request for a credential under the id `id`. From then on,
/// [`get_auth_response`](Context::get_auth_response) returns the credential for the rest of the invocation. It is not
/// stored.
///
/// # Errors
/// A `WorkflowDataError` if the answer holds no credential, or belongs to another sign-in.
pub fn accept_credential(ctx: &Context, requested: &AuthConfig, answer: &Value, id: &str) -> Result<(), NodeError> {
    let sign_in = SignIn::read(id, |key| ctx.state().value(key));
    let accepted = accept(requested, answer, &sign_in)?;
    if let Some(key) = accepted.used_verifier {
        ctx.reserved_state().set(key, Value::Null)?;
    }
    ctx.reserved_state().set(format!("temp:{}", credential_key(requested)), accepted.credential)
}
