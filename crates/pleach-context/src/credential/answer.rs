//! Taking over the credential that a client sends.
// R931

use pleach_core::{AuthConfig, Event, Map};
use pleach_schema::unwrap_response;
use serde_json::Value;

use super::request::{EXCHANGED, RAW, state_key, verifier_key};
use super::stores::{CLIENT_ID, CLIENT_SECRET, with_client, without_client_secret};
use super::{AuthCredential, key_of};
use crate::engine::Engine as _;
use crate::{Context, NodeError};

/// The kinds of credentials there are. ADK: `AuthCredentialTypes`
pub(super) const KINDS: [&str; 5] = ["apiKey", "http", "oauth2", "openIdConnect", "serviceAccount"];

/// What a sent credential lacks is taken from the request.
const OF_REQUEST: [&str; 6] =
    [CLIENT_ID, CLIENT_SECRET, "redirect_uri", "code_verifier", "code_challenge_method", "token_endpoint_auth_method"];

/// Replaces the credential in a stored answer.
pub(super) const REDACTED: &str = "[redacted credential]";

/// What a client has sent for a request for a credential.
#[derive(Clone, PartialEq)]
pub enum SentCredential {
    /// This, for [`accept_credential`].
    Answer(Value),
    /// Something that is not known any more: it was sent to another process, and is not stored. It must be asked for again.
    Gone,
}

impl std::fmt::Debug for SentCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SentCredential")
    }
}

/// What the client has sent for the request under the id `id`; `None` when it has not answered.
///
/// Digits are given as they were typed: read as JSON, an API key would lose its text.
pub fn sent_credential(ctx: &Context, id: &str) -> Option<SentCredential> {
    let stored = ctx.resume_inputs().get(id).filter(|answer| !answer.is_null())?;
    if let Some(sent) = ctx.invocation().engine().services().sent_credentials.get(ctx, id) {
        return Some(SentCredential::Answer(typed(&sent).unwrap_or_else(|| unwrap_response(&sent))));
    }
    if stored == REDACTED {
        return Some(SentCredential::Gone);
    }
    // Another program stored what it was sent.
    let events = ctx.invocation().events();
    let response = || events.iter().rev().find_map(|event| response_to(event, id));
    let text = if stored.is_number() { response().and_then(|response| typed(&response)) } else { None };
    Some(SentCredential::Answer(text.unwrap_or_else(|| stored.clone())))
}

/// The text of an answer that is a number when it is read as JSON.
fn typed(response: &Map) -> Option<Value> {
    let text = response.get("result").filter(|text| text.is_string())?;
    unwrap_response(response).is_number().then(|| text.clone())
}

fn response_to(event: &Event, id: &str) -> Option<Map> {
    let mut responses = event.function_responses().filter(|response| response.id.as_deref() == Some(id));
    responses.next()?.response.clone()
}

/// Takes over the client's answer to the request for a credential under the id `id`, so that
/// [`get_auth_response`](Context::get_auth_response) gives it for the rest of the invocation. It is not stored.
///
/// An answer is the config with its `exchangedAuthCredential` filled in, a credential, or for an API key the key itself.
/// Only the credential is read: scheme, key and OAuth2 client are those of `requested`. After a sign-in it must bring
/// back the OAuth state of the request.
///
/// # Errors
/// A `WorkflowDataError` when it is none of these, or belongs to another sign-in.
///
/// ADK: `process_auth_resume`, without the exchange of a code for a token
pub fn accept_credential(ctx: &Context, requested: &AuthConfig, answer: &Value, id: &str) -> Result<(), NodeError> {
    let malformed = || {
        NodeError::data(
            "The auth response is malformed or does not carry back the state generated for this auth request. Return the auth config from the credential request with the authorization result filled in.",
        )
    };
    let sent = credential_in(requested, answer).ok_or_else(malformed)?;
    let mut credential = serde_json::to_value(&sent).map_err(|_| malformed())?;
    if let Some(generated) = ctx.state().value(&state_key(id)).filter(|state| !state.is_null())
        && credential.get("oauth2").and_then(|oauth2| oauth2.get("state")) != Some(&generated)
    {
        return Err(malformed());
    }
    restore_verifier(ctx, &mut credential, id)?;
    backfill(&mut credential, requested);
    let credential: AuthCredential = serde_json::from_value(credential).map_err(|_| malformed())?;
    let pinned = with_client(credential, requested, &[CLIENT_ID, CLIENT_SECRET]);
    let kept = serde_json::to_value(&pinned).map_err(|_| malformed())?;
    ctx.state().set(format!("temp:{}", key_of(requested)), without_client_secret(kept))
}

/// The credential in an answer of any form.
fn credential_in(requested: &AuthConfig, answer: &Value) -> Option<AuthCredential> {
    let config = AuthConfig::new(answer.clone());
    if config.get("auth_scheme").and_then(|scheme| scheme.get("type_")).is_some() {
        return credential(config.get(EXCHANGED)?);
    }
    let of_key = requested.get(RAW).and_then(|raw| raw.get("auth_type")).is_some_and(|kind| kind == "apiKey");
    match answer {
        Value::String(key) if of_key => Some(AuthCredential::api_key(key)),
        Value::Number(key) if of_key => Some(AuthCredential::api_key(key.to_string())),
        other => credential(other),
    }
}

fn credential(value: &Value) -> Option<AuthCredential> {
    let credential: AuthCredential = serde_json::from_value(value.clone()).ok()?;
    KINDS.contains(&credential.auth_type.as_str()).then_some(credential)
}

/// Puts the PKCE verifier back that the client never saw.
fn restore_verifier(ctx: &Context, credential: &mut Value, id: &str) -> Result<(), NodeError> {
    let Some(Value::Object(oauth2)) = credential.get_mut("oauth2") else { return Ok(()) };
    let key = verifier_key(id);
    let kept = ctx.state().value(&key).and_then(|kept| serde_json::from_value::<AuthCredential>(kept).ok());
    let Some(kept) = kept.and_then(|kept| kept.oauth2) else { return Ok(()) };
    for field in ["code_verifier", "code_challenge_method"] {
        if let Some(value) = kept.get(field).filter(|_| oauth2.get(field).is_none_or(Value::is_null)) {
            oauth2.insert(field.to_owned(), value.clone());
        }
    }
    ctx.state().set(key, Value::Null)
}

fn backfill(credential: &mut Value, requested: &AuthConfig) {
    let given = |place: &str| requested.get(place).filter(|given| given.is_object());
    let Some(source) = given(EXCHANGED).or_else(|| given(RAW)).and_then(|source| source.get("oauth2")) else { return };
    match credential.get_mut("oauth2") {
        Some(Value::Object(oauth2)) => {
            for field in OF_REQUEST {
                if let Some(value) = source.get(field).filter(|_| oauth2.get(field).is_none_or(Value::is_null)) {
                    oauth2.insert(field.to_owned(), value.clone());
                }
            }
        }
        _ => credential["oauth2"] = source.clone(),
    }
}
