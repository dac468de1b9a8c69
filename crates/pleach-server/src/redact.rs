//! What a client must not see: secrets of credentials, and metadata of the framework.
// H9

use serde_json::{Map, Value};

/// Texts of which a document that holds something to remove has at least one. JSON escapes none of their characters.
const SIGNS: &[&str] = &[
    "\"authType\"",
    "\"auth_type\"",
    "AuthCredential\"",
    "_auth_credential\"",
    "\"adk_request_credential\"",
    "\"requestedAuthConfigs\":{\"",
    "\"requested_auth_configs\"",
    "\"__adk_internal_",
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

/// The types of credentials, whose documents are marked by one of them.
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

/// Members whose whole value belongs to a credential.
const CARRIERS: &[&str] = &[
    "requestedAuthConfigs",
    "requested_auth_configs",
    "rawAuthCredential",
    "raw_auth_credential",
    "exchangedAuthCredential",
    "exchanged_auth_credential",
];

const REQUEST_CREDENTIAL: &str = "adk_request_credential";

/// Returns whether a document may hold something to remove. `text` is its JSON without spaces between the tokens.
pub(crate) fn is_suspect(text: &str) -> bool {
    SIGNS.iter().any(|sign| text.contains(sign))
}

/// Removes what a client must not see. Recurses as deep as the value is, which the stores have bounded.
pub(crate) fn clean(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(object) if is_credential(object) => without_secrets(value),
        Value::Object(object) => clean_object(object),
        _ => {}
    }
}

fn clean_object(object: &mut Map<String, Value>) {
    let asks = object.get("name").and_then(Value::as_str) == Some(REQUEST_CREDENTIAL);
    for (key, member) in object.iter_mut() {
        match (key.as_str(), asks) {
            ("args", true) => {
                for key in ["authConfig", "auth_config"] {
                    member.get_mut(key).into_iter().for_each(without_secrets);
                }
                clean(member);
            }
            ("response", true) => without_secrets(member),
            (key, _) if CARRIERS.contains(&key) => without_secrets(member),
            _ => clean(member),
        }
    }
    for key in ["customMetadata", "custom_metadata"] {
        drop_internal(object, key);
    }
}

/// Removes the framework's own metadata.
fn drop_internal(object: &mut Map<String, Value>, key: &str) {
    let Some(Value::Object(metadata)) = object.get_mut(key) else { return };
    let before = metadata.len();
    metadata.retain(|key, _| !key.starts_with("__adk_internal_"));
    if metadata.is_empty() && before > 0 {
        object.remove(key);
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
        clean(&mut cleaned);
        assert_eq!(cleaned, *after, "{before}");
        assert!(before == *after || is_suspect(&before.to_string()), "{before}");
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
    fn h9_other_documents_stay_as_they_are() {
        for value in [
            json!({"token": "t", "password": "p"}),
            json!({"authType": "mine", "token": "t"}),
            json!({"functionCall": {"name": "other", "args": {"authConfig": {"token": "t"}}}}),
        ] {
            check(value.clone(), &value);
        }
    }

    #[test]
    fn h9_metadata_of_the_framework_is_removed() {
        check(
            json!({"customMetadata": {"__adk_internal_restored_event": true, "a": 1}}),
            &json!({"customMetadata": {"a": 1}}),
        );
        check(json!({"customMetadata": {"__adk_internal_restored_event": true}}), &json!({}));
        check(json!({"customMetadata": {}, "authType": 1}), &json!({"customMetadata": {}, "authType": 1}));
    }
}
