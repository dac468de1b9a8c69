//! Requests for credentials: the config as a client sees it, and the event that asks.

use std::fmt;

use pleach_core::{AuthConfig, Content, Event, FunctionCall, IdGen, Map, Part, REQUEST_CREDENTIAL, to_camel};
use serde_json::{Value, json};

use crate::config::{EXCHANGED, RAW};
use crate::key::without_nulls;
use crate::{AuthError, credential_key, oauth};

/// Returns the config as the client sees it: with the sign-in address and the credential's key, without the agent's
/// secrets. A config that already is such a request stays unchanged.
///
/// The result still holds the PKCE verifier, which [`CredentialQuestion`] removes.
///
/// # Errors
/// The OAuth2 config lacks data that a sign-in needs.
///
/// ADK: `AuthHandler.generate_auth_request`
pub fn auth_request(config: &AuthConfig, ids: &dyn IdGen) -> Result<AuthConfig, AuthError> {
    let Value::Object(mut request) = config.as_value().clone() else {
        return Err(AuthError::EmptyScheme);
    };
    // The key depends on the secrets, so it is computed before they are removed.
    request.insert("credential_key".to_owned(), credential_key(config).into());
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

/// Removes the secrets of an agent's credential. google-adk does not remove tokens and the keys of service accounts.
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

/// The event that asks a client for a credential, and the state that the session must keep until the answer. Debug
/// output shows neither.
pub struct CredentialQuestion {
    /// The event.
    pub event: Event,
    /// The entries of the session's state that [`SignIn`](crate::SignIn) reads: the OAuth state under `adk_oauth_state:ID`,
    /// and the PKCE verifier, which no client sees, under `adk_oauth_credential:ID`.
    pub state: Vec<(String, Value)>,
}

impl CredentialQuestion {
    /// Creates the question for the credential of `config` under the id `id`.
    ///
    /// # Errors
    /// The OAuth2 config lacks data that a sign-in needs.
    ///
    /// ADK: `create_auth_request_event`
    // R129
    pub fn new(config: &AuthConfig, id: &str, ids: &dyn IdGen) -> Result<Self, AuthError> {
        let mut request = auth_request(config, ids)?.into_value();
        let mut state = Vec::new();
        if let Some(Value::Object(oauth2)) =
            request.get_mut(EXCHANGED).and_then(|exchanged| exchanged.get_mut("oauth2"))
        {
            if let Some(oauth_state) = oauth2.get("state").filter(|state| !state.is_null()) {
                state.push((state_key(id), oauth_state.clone()));
            }
            if let Some(verifier) = oauth2.remove("code_verifier").filter(|verifier| !verifier.is_null()) {
                let method = oauth2.get("code_challenge_method");
                let kept = json!({"code_verifier": verifier, "code_challenge_method": method});
                state.push((verifier_key(id), json!({"auth_type": "oauth2", "oauth2": kept})));
            }
        }
        let args = Map::from_iter([
            ("functionCallId".to_owned(), Value::from(id)),
            ("authConfig".to_owned(), shown(&AuthConfig::new(request))),
            ("message".to_owned(), message(config).into()),
        ]);
        let call = Part::function_call(FunctionCall::new(id, REQUEST_CREDENTIAL, args));
        let event = Event::new().with_content(Content::new("model", [call])).with_long_running([id]);
        Ok(Self { event, state })
    }
}

impl fmt::Debug for CredentialQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialQuestion")
    }
}

/// Returns the state key for the OAuth state of the sign-in that was requested under `id`.
pub(crate) fn state_key(id: &str) -> String {
    format!("adk_oauth_state:{id}")
}

/// Returns the state key for the PKCE verifier of the sign-in that was requested under `id`.
pub(crate) fn verifier_key(id: &str) -> String {
    format!("adk_oauth_credential:{id}")
}

/// Returns the config as arguments of a call, whose casing does not follow the event's.
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

/// Returns the message for the person. ADK: `_build_auth_message`
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
