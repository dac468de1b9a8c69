//! The sign-in for an OAuth2 or OpenID Connect credential: its address, state and PKCE verifier.
//!
//! ADK: `AuthHandler.generate_auth_uri`

use form_urlencoded::Serializer;
use pleach_core::{AuthConfig, Bytes, IdGen, Map};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::AuthError;
use crate::config::{EXCHANGED, RAW};

/// Returns the credential that a client completes by signing in; `None` if `config` needs no sign-in, or already has
/// the address.
///
/// # Errors
/// Names the part that the config lacks.
pub(crate) fn exchanged(config: &AuthConfig, ids: &dyn IdGen) -> Result<Option<Value>, AuthError> {
    let kind = config.get("auth_scheme").and_then(|scheme| text(scheme, "type_"));
    let Some(kind @ ("oauth2" | "openIdConnect")) = kind else { return Ok(None) };
    let uri = |credential: &Value| credential.get("oauth2").and_then(|oauth2| text(oauth2, "auth_uri")).is_some();
    if config.get(EXCHANGED).is_some_and(uri) {
        return Ok(None);
    }
    let lacks = |part: &'static str| AuthError::Incomplete { scheme: kind.to_owned(), part };
    let raw = config.get(RAW).filter(|raw| raw.is_object()).ok_or_else(|| lacks("auth_credential"))?;
    let client = raw.get("oauth2").and_then(Value::as_object).ok_or_else(|| lacks("oauth2 in auth_credential"))?;
    let mut exchanged = raw.clone();
    if !uri(raw) {
        let id = given(client, "client_id").ok_or_else(|| lacks("client_id in auth_credential.oauth2"))?;
        exchanged["oauth2"] = Value::Object(signed(&config.as_value()["auth_scheme"], client, id, ids)?);
    }
    Ok(Some(exchanged))
}

/// Returns the client with the sign-in address, the state and the verifier of this sign-in.
fn signed(scheme: &Value, client: &Map, id: &str, ids: &dyn IdGen) -> Result<Map, AuthError> {
    let (endpoint, scopes) = endpoint(scheme)?;
    let mut signed = client.clone();
    let given = |name: &str| given(client, name);
    let state = ids.uuid().simple().to_string();
    let mut query = Serializer::new(String::new());
    query.append_pair("response_type", "code").append_pair("client_id", id);
    if let Some(address) = given("redirect_uri") {
        query.append_pair("redirect_uri", address);
    }
    if !scopes.is_empty() {
        query.append_pair("scope", &scopes.join(" "));
    }
    query.append_pair("state", &state).append_pair("access_type", "offline");
    query.append_pair("prompt", given("prompt").unwrap_or("consent"));
    for name in ["audience", "nonce"] {
        if let Some(value) = given(name) {
            query.append_pair(name, value);
        }
    }
    if let Some(verifier) = verifier(client, ids)? {
        query.append_pair("code_challenge", &challenge(&verifier)).append_pair("code_challenge_method", "S256");
        signed.insert("code_verifier".to_owned(), verifier.into());
        signed.insert("code_challenge_method".to_owned(), "S256".into());
    }
    let joint = if endpoint.contains('?') { '&' } else { '?' };
    signed.insert("auth_uri".to_owned(), format!("{endpoint}{joint}{}", query.finish()).into());
    signed.insert("state".to_owned(), state.into());
    Ok(signed)
}

/// Returns the PKCE verifier, with which the client proves that it began the sign-in. There is always one if the
/// client has no secret.
fn verifier(client: &Map, ids: &dyn IdGen) -> Result<Option<String>, AuthError> {
    let random = || format!("{}{}", ids.uuid().simple(), ids.uuid().simple());
    match given(client, "code_challenge_method").or_else(|| given(client, "client_secret").is_none().then_some("S256"))
    {
        Some("S256") => Ok(Some(given(client, "code_verifier").map_or_else(random, str::to_owned))),
        Some(other) => Err(AuthError::UnsupportedChallenge(other.to_owned())),
        None => Ok(None),
    }
}

/// Returns the sign-in address and the scopes.
fn endpoint(scheme: &Value) -> Result<(&str, Vec<&str>), AuthError> {
    if let (Some(endpoint), Some(_)) = (text(scheme, "authorization_endpoint"), text(scheme, "token_endpoint")) {
        return Ok((endpoint, scopes(&scheme["scopes"])));
    }
    let flows = scheme.get("flows").filter(|flows| flows.is_object());
    let flows = flows.ok_or(AuthError::NoEndpoint("it carries no OAuth2 flows"))?;
    let declared = [
        ("implicit", "authorizationUrl"),
        ("authorizationCode", "authorizationUrl"),
        ("clientCredentials", "tokenUrl"),
        ("password", "tokenUrl"),
    ];
    let endpoint = declared.iter().find_map(|(flow, url)| text(flows.get(flow)?, url));
    let endpoint = endpoint.ok_or(AuthError::NoEndpoint("no flow declares an authorization endpoint"))?;
    let flow = declared.iter().find_map(|(flow, _)| flows.get(flow).filter(|flow| flow.is_object()));
    Ok((endpoint, flow.map(|flow| scopes(&flow["scopes"])).unwrap_or_default()))
}

/// Reads scopes from an array, or from an object of scopes and descriptions.
fn scopes(scopes: &Value) -> Vec<&str> {
    match scopes {
        Value::Array(scopes) => scopes.iter().filter_map(Value::as_str).collect(),
        Value::Object(scopes) => scopes.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    given(value.as_object()?, name)
}

fn given<'a>(object: &'a Map, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Returns the PKCE challenge of a verifier, by the SHA-256 method of RFC 7636.
fn challenge(verifier: &str) -> String {
    let digest = Bytes(Sha256::digest(verifier).to_vec()).to_base64();
    digest.trim_end_matches('=').to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The example of RFC 7636, appendix B.
    #[test]
    fn a_challenge_is_the_hash_of_its_verifier() {
        assert_eq!(
            challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    fn check(scheme: Value, expected: Option<(&str, &[&str])>) {
        let found = endpoint(&scheme).ok();
        assert_eq!(found, expected.map(|(endpoint, scopes)| (endpoint, scopes.to_vec())), "{scheme}");
    }

    #[test]
    fn the_endpoint_comes_from_the_first_flow() {
        let code = json!({"authorizationUrl": "https://a", "tokenUrl": "https://t", "scopes": {"w": "", "r": ""}});
        check(json!({"flows": {"authorizationCode": code}}), Some(("https://a", &["r", "w"])));
        check(json!({"flows": {"clientCredentials": {"tokenUrl": "https://t"}}}), Some(("https://t", &[])));
        let discovered = json!({"authorization_endpoint": "https://a", "token_endpoint": "https://t", "scopes": ["x"]});
        check(discovered, Some(("https://a", &["x"])));
        check(json!({"flows": {}}), None);
        check(json!({"openIdConnectUrl": "https://o"}), None);
    }
}
