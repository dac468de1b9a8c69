//! Reading the credential that a client sends.
// R931

use pleach_core::AuthConfig;
use serde_json::Value;

use crate::client::{CLIENT_ID, CLIENT_SECRET};
use crate::config::{EXCHANGED, RAW};
use crate::request::{state_key, verifier_key};
use crate::{AuthCredential, AuthError, ClientFields, with_client, without_client_secret};

/// The fields that are taken from the request if a sent credential lacks them.
const OF_REQUEST: [&str; 6] =
    [CLIENT_ID, CLIENT_SECRET, "redirect_uri", "code_verifier", "code_challenge_method", "token_endpoint_auth_method"];

/// The values in the session's state for a sign-in that was requested under one id. Debug output hides them.
pub struct SignIn {
    /// The OAuth state that the answer must carry.
    oauth_state: Option<Value>,
    /// The credential with the PKCE verifier, which the client has never seen.
    verifier: Option<AuthCredential>,
    verifier_key: String,
}

/// An accepted credential. Debug output hides it.
pub struct Accepted {
    /// The credential in its JSON form, without the secret of the OAuth2 client.
    pub credential: Value,
    /// The state key of the PKCE verifier, if it was used. The entry is then no longer needed.
    pub used_verifier: Option<String>,
}

impl SignIn {
    /// Reads the sign-in that was requested under the id `id`; `state` looks up a key in the session's state.
    pub fn read(id: &str, state: impl Fn(&str) -> Option<Value>) -> Self {
        let verifier_key = verifier_key(id);
        Self {
            oauth_state: state(&state_key(id)).filter(|state| !state.is_null()),
            verifier: state(&verifier_key).and_then(|kept| serde_json::from_value(kept).ok()),
            verifier_key,
        }
    }
}

/// Reads the client's answer to a request for a credential.
///
/// The answer is the config with its `exchangedAuthCredential` filled in, a credential or, for an API key, the key
/// itself. Only the credential is read from it: scheme, key and OAuth2 client are taken from `requested`. After a
/// sign-in, the answer must contain the OAuth state of the request.
///
/// # Errors
/// [`AuthError::MalformedAnswer`] if the answer has none of these forms, or belongs to another sign-in.
///
/// ADK: `process_auth_resume`, without the exchange of a code for a token
pub fn accept(requested: &AuthConfig, answer: &Value, sign_in: &SignIn) -> Result<Accepted, AuthError> {
    let malformed = |_| AuthError::MalformedAnswer;
    let sent = credential_in(requested, answer).ok_or(AuthError::MalformedAnswer)?;
    let mut credential = serde_json::to_value(&sent).map_err(malformed)?;
    if let Some(generated) = &sign_in.oauth_state
        && credential.get("oauth2").and_then(|oauth2| oauth2.get("state")) != Some(generated)
    {
        return Err(AuthError::MalformedAnswer);
    }
    let is_restored = restore_verifier(&mut credential, sign_in);
    backfill(&mut credential, requested);
    let credential: AuthCredential = serde_json::from_value(credential).map_err(malformed)?;
    let credential = with_client(credential, requested, ClientFields::IdAndSecret);
    let credential = without_client_secret(serde_json::to_value(&credential).map_err(malformed)?);
    Ok(Accepted { credential, used_verifier: is_restored.then(|| sign_in.verifier_key.clone()) })
}

/// Returns the credential in an answer of any form.
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
    credential.is_of_known_kind().then_some(credential)
}

/// Adds the PKCE verifier that the client has never seen; returns whether there was one to add.
fn restore_verifier(credential: &mut Value, sign_in: &SignIn) -> bool {
    let Some(Value::Object(oauth2)) = credential.get_mut("oauth2") else { return false };
    let Some(kept) = sign_in.verifier.as_ref().and_then(|kept| kept.oauth2.as_ref()) else { return false };
    for field in ["code_verifier", "code_challenge_method"] {
        if let Some(value) = kept.get(field).filter(|_| oauth2.get(field).is_none_or(Value::is_null)) {
            oauth2.insert(field.to_owned(), value.clone());
        }
    }
    true
}

fn backfill(credential: &mut Value, requested: &AuthConfig) {
    let part = |name: &str| requested.get(name).filter(|part| part.is_object());
    let Some(source) = part(EXCHANGED).or_else(|| part(RAW)).and_then(|source| source.get("oauth2")) else { return };
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

impl std::fmt::Debug for SignIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignIn")
    }
}

impl std::fmt::Debug for Accepted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Accepted")
    }
}
