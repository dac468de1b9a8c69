//! Asking a client for a credential: what it gets to see of the config, and the event that asks.

use pleach_core::{AuthConfig, Content, Event, FunctionCall, IdGen, Map, Part, REQUEST_CREDENTIAL, to_camel};
use serde_json::{Value, json};

use super::key::without_nulls;
use super::{key_of, oauth};
use crate::engine::Engine as _;
use crate::{Context, NodeError};

pub(super) const RAW: &str = "raw_auth_credential";
pub(super) const EXCHANGED: &str = "exchanged_auth_credential";

/// The config as the client gets it: with the address to sign in at and the key that the credential is kept under, and
/// without the agent's own secrets. What is such a request already stays as it is.
///
/// The PKCE verifier is still in it, for [`credential_question`] to keep back.
///
/// # Errors
/// A `ValueError` for an OAuth2 config that lacks what a sign-in needs.
///
/// ADK: `AuthHandler.generate_auth_request`
pub(crate) fn auth_request(config: &AuthConfig, ids: &dyn IdGen) -> Result<AuthConfig, NodeError> {
    let Value::Object(mut request) = config.as_value().clone() else {
        return Err(NodeError::value("auth_scheme is empty."));
    };
    // Before the secrets go: they are part of the key.
    request.insert("credential_key".to_owned(), key_of(config).into());
    if let Some(exchanged) = oauth::exchanged(config, ids)? {
        request.insert(EXCHANGED.to_owned(), exchanged);
    }
    for (place, keeps_verifier) in [(RAW, false), (EXCHANGED, true)] {
        if let Some(Value::Object(credential)) = request.get_mut(place) {
            strip(credential, keeps_verifier);
        }
    }
    Ok(AuthConfig::new(request.into()))
}

/// Removes the secrets of an agent's credential. Beyond google-adk's also tokens and the keys of service accounts.
fn strip(credential: &mut Map, keeps_verifier: bool) {
    credential.remove("api_key");
    if let Some(Value::Object(account)) = credential.get_mut("service_account") {
        account.remove("service_account_credential");
    }
    if let Some(Value::Object(oauth2)) = credential.get_mut("oauth2") {
        for secret in ["client_secret", "access_token", "refresh_token", "id_token"] {
            oauth2.remove(secret);
        }
        if !keeps_verifier {
            oauth2.remove("code_verifier");
        }
    }
    if let Some(Value::Object(http)) = credential.get_mut("http") {
        http.remove("additional_headers");
        if let Some(Value::Object(credentials)) = http.get_mut("credentials") {
            credentials.remove("password");
            credentials.remove("token");
        }
    }
}

/// The event by which a run asks the client for a credential under the id `id`.
///
/// The session's state keeps what a sign-in has to bring back: the OAuth state under
/// `adk_oauth_state:ID`, and the PKCE verifier, which no client gets to see, under `adk_oauth_credential:ID`.
///
/// # Errors
/// A `ValueError` for an OAuth2 config that lacks what a sign-in needs.
///
/// ADK: `create_auth_request_event`
// R129
pub fn credential_question(ctx: &Context, config: &AuthConfig, id: &str) -> Result<Event, NodeError> {
    let mut request = auth_request(config, &*ctx.invocation().engine().services().ids)?.into_value();
    if let Some(Value::Object(oauth2)) = request.get_mut(EXCHANGED).and_then(|exchanged| exchanged.get_mut("oauth2")) {
        if let Some(state) = oauth2.get("state").filter(|state| !state.is_null()) {
            ctx.state().set(state_key(id), state)?;
        }
        if let Some(verifier) = oauth2.remove("code_verifier").filter(|verifier| !verifier.is_null()) {
            let kept = json!({"code_verifier": verifier, "code_challenge_method": oauth2.get("code_challenge_method")});
            ctx.state().set(verifier_key(id), json!({"auth_type": "oauth2", "oauth2": kept}))?;
        }
    }
    let args = Map::from_iter([
        ("functionCallId".to_owned(), Value::from(id)),
        ("authConfig".to_owned(), shown(&AuthConfig::new(request))),
        ("message".to_owned(), message(config).into()),
    ]);
    let call = Part::function_call(FunctionCall::new(id, REQUEST_CREDENTIAL, args));
    Ok(Event::new().with_content(Content::new("model", [call])).with_long_running([id]))
}

/// Where the OAuth state of the sign-in asked for under `id` is kept.
pub(super) fn state_key(id: &str) -> String {
    format!("adk_oauth_state:{id}")
}

/// Where its PKCE verifier is kept.
pub(super) fn verifier_key(id: &str) -> String {
    format!("adk_oauth_credential:{id}")
}

/// The config in the spelling of a call's arguments, which is the same in every casing of the event.
fn shown(config: &AuthConfig) -> Value {
    let mut config = to_camel(config).expect("a JSON document has a JSON form");
    if let Some(Value::Object(scheme)) = config.get_mut("authScheme")
        && let Some(place) = scheme.remove("in_")
    {
        scheme.insert("in".to_owned(), place);
    }
    without_nulls(&mut config);
    config
}

/// The message for the person. ADK: `_build_auth_message`
fn message(config: &AuthConfig) -> String {
    let kind = config.get(RAW).and_then(|raw| raw.get("auth_type")).and_then(Value::as_str);
    match kind {
        Some("apiKey") => {
            let name = config.get("auth_scheme").and_then(|scheme| scheme.get("name")).and_then(Value::as_str);
            format!("Please provide your API key for {}.", name.unwrap_or("API key"))
        }
        Some("oauth2" | "openIdConnect") => "Please complete the authentication flow.".to_owned(),
        _ => "Please provide your authentication credentials.".to_owned(),
    }
}
