//! [`hide_secrets`]: removes the parts of credentials that clients, pages and terminals must not see.
// H9

use pleach_core::REQUEST_CREDENTIAL;
use serde_json::{Map, Value};

/// Every document with something to remove contains at least one of these strings. JSON escapes none of their
/// characters.
const SIGNS: &[&str] = &[
    "\"authType\"",
    "\"auth_type\"",
    "AuthCredential\"",
    "_auth_credential\"",
    "\"adk_request_credential\"",
    "\"requestedAuthConfigs\":{\"",
    "\"requested_auth_configs\"",
];

const SECRETS: &[&str] = &[
    "password",
    "token",
    "additionalHeaders",
    "additional_headers",
    "clientSecret",
    "client_secret",
    "authResponseUri",
    "auth_response_uri",
    "authCode",
    "auth_code",
    "accessToken",
    "access_token",
    "refreshToken",
    "refresh_token",
    "idToken",
    "id_token",
    "codeVerifier",
    "code_verifier",
    "privateKeyId",
    "private_key_id",
    "privateKey",
    "private_key",
    "apiKey",
    "api_key",
];

/// The types of credentials. A credential's document is recognised by one of them.
const AUTH_TYPES: &[&str] = &[
    "apiKey",
    "API_KEY",
    "api_key",
    "http",
    "HTTP",
    "oauth2",
    "OAUTH2",
    "openIdConnect",
    "OPEN_ID_CONNECT",
    "open_id_connect",
    "serviceAccount",
    "SERVICE_ACCOUNT",
    "service_account",
];

/// The names of members whose whole value belongs to a credential.
const CARRIERS: &[&str] = &[
    "requestedAuthConfigs",
    "requested_auth_configs",
    "rawAuthCredential",
    "raw_auth_credential",
    "exchangedAuthCredential",
    "exchanged_auth_credential",
];

/// Returns true if a document may hold a secret of a credential. `text` is its JSON without spaces between the tokens.
#[must_use]
pub fn may_hold_secrets(text: &str) -> bool {
    SIGNS.iter().any(|sign| text.contains(sign))
}

/// Removes the secrets of credentials, wherever they are in a document. The recursion is as deep as the value, which
/// the stores limit.
pub fn hide_secrets(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide_secrets),
        Value::Object(object) if is_credential(object) => without_secrets(value),
        Value::Object(object) => hide_in_object(object),
        _ => {}
    }
}

/// Removes the secrets from the value of a key: a member of an object, or a key of the state.
pub fn hide_secrets_of(key: &str, value: &mut Value) {
    if CARRIERS.contains(&key) { without_secrets(value) } else { hide_secrets(value) }
}

/// Removes from `delta` each credential that equals the one in `state` without its secrets, which is the form that
/// clients see. So a client that sends the whole state back does not change credentials.
pub fn drop_shown_credentials(delta: &mut Map<String, Value>, state: &Map<String, Value>) {
    delta.retain(|key, value| {
        let Some(stored) = state.get(key) else { return true };
        let mut shown = Value::Object(Map::from_iter([(key.clone(), stored.clone())]));
        hide_secrets(&mut shown);
        let is_shown = shown.get(key) == Some(value) && value != stored;
        !is_shown
    });
}

/// Removes the secrets from the arguments or the response of a call with this name.
pub fn hide_secrets_of_call(name: &str, value: &mut Value) {
    if name == REQUEST_CREDENTIAL { without_secrets(value) } else { hide_secrets(value) }
}

fn hide_in_object(object: &mut Map<String, Value>) {
    let asks = object.get("name").and_then(Value::as_str) == Some(REQUEST_CREDENTIAL);
    for (key, member) in object.iter_mut() {
        match (key.as_str(), asks) {
            ("args", true) => {
                for key in ["authConfig", "auth_config"] {
                    member.get_mut(key).into_iter().for_each(without_secrets);
                }
                hide_secrets(member);
            }
            ("response", true) => without_secrets(member),
            (key, _) => hide_secrets_of(key, member),
        }
    }
}

fn is_credential(object: &Map<String, Value>) -> bool {
    let named = |key| object.get(key).and_then(Value::as_str).is_some_and(|kind| AUTH_TYPES.contains(&kind));
    named("authType") || named("auth_type")
}

fn without_secrets(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_secrets),
        Value::Object(object) => {
            object.retain(|key, _| !SECRETS.contains(&key.as_str()));
            object.values_mut().for_each(without_secrets);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(before: Value, after: &Value) {
        let mut cleaned = before.clone();
        hide_secrets(&mut cleaned);
        assert_eq!(cleaned, *after, "{before}");
        assert!(before == *after || may_hold_secrets(&before.to_string()), "{before}");
    }

    #[test]
    fn h9_secrets_of_credentials_are_removed_wherever_they_are() {
        let config =
            json!({"rawAuthCredential": {"authType": "oauth2", "oauth2": {"clientId": "id", "clientSecret": "s"}}});
        let seen = json!({"rawAuthCredential": {"authType": "oauth2", "oauth2": {"clientId": "id"}}});
        check(config.clone(), &seen);
        check(json!({"requestedAuthConfigs": {"c": config}}), &json!({"requestedAuthConfigs": {"c": seen}}));
        let call =
            |config: &Value| json!([{"functionCall": {"name": REQUEST_CREDENTIAL, "args": {"authConfig": config}}}]);
        check(call(&json!({"scheme": {"token": "t", "url": "u"}})), &call(&json!({"scheme": {"url": "u"}})));
        check(
            json!({"functionResponse": {"name": REQUEST_CREDENTIAL, "response": {"k": {"authCode": "c"}}}}),
            &json!({"functionResponse": {"name": REQUEST_CREDENTIAL, "response": {"k": {}}}}),
        );
        check(
            json!({"state": {"x": [{"auth_type": "http", "http": {"password": "p"}}]}}),
            &json!({"state": {"x": [{"auth_type": "http", "http": {}}]}}),
        );
    }

    #[test]
    fn a_credential_that_is_sent_back_as_it_was_shown_is_no_change() {
        let credential = json!({"auth_type": "http", "http": {"scheme": "basic", "password": "p"}});
        let state = Map::from_iter([("k".to_owned(), credential.clone()), ("mood".to_owned(), json!(1))]);
        for (value, stays) in [
            (json!({"auth_type": "http", "http": {"scheme": "basic"}}), false),
            (credential, true),
            (json!({"auth_type": "http", "http": {"scheme": "x"}}), true),
            (json!(null), true),
        ] {
            let mut delta = Map::from_iter([("k".to_owned(), value.clone()), ("mood".to_owned(), json!(1))]);
            drop_shown_credentials(&mut delta, &state);
            assert_eq!((delta.contains_key("k"), delta.len()), (stays, 1 + usize::from(stays)), "{value}");
        }
        let nested =
            |http: Value| Map::from_iter([("crm".to_owned(), json!({"main": {"auth_type": "http", "http": http}}))]);
        let mut delta = nested(json!({"scheme": "basic"}));
        drop_shown_credentials(&mut delta, &nested(json!({"scheme": "basic", "password": "p"})));
        assert_eq!(delta, Map::new());
    }

    #[test]
    fn h9_other_documents_stay_as_they_are() {
        for value in [
            json!({"token": "t", "password": "p"}),
            json!({"authType": "mine", "token": "t"}),
            json!({"functionCall": {"name": "other", "args": {"authConfig": {"token": "t"}}}}),
        ] {
            check(value.clone(), &value);
        }
    }

    /// A key that is passed separately from its value has the same meaning as a member's name.
    #[test]
    fn h9_a_key_of_the_state_carries_a_credential() {
        let credential = json!({"oauth2": {"clientId": "id", "clientSecret": "s"}});
        for (key, left) in [("rawAuthCredential", json!({"oauth2": {"clientId": "id"}})), ("other", credential.clone())]
        {
            let mut value = credential.clone();
            hide_secrets_of(key, &mut value);
            assert_eq!(value, left, "{key}");
        }
    }
}
