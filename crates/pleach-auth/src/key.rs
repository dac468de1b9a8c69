//! [`credential_key`]: the name under which a credential is stored.
// S85

use pleach_core::{AuthConfig, Map, to_camel};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The fields of the credential's OAuth2 part that change during a sign-in, and are therefore not part of the key.
const TRANSIENT: [&str; 9] = [
    "authUri",
    "state",
    "authResponseUri",
    "authCode",
    "accessToken",
    "refreshToken",
    "expiresAt",
    "expiresIn",
    "redirectUri",
];

/// Returns the key under which a credential is stored. If the config names no key, it is google-adk's digest of the
/// scheme and the raw credential.
///
/// ADK: `AuthConfig.credential_key`
#[must_use]
pub fn credential_key(config: &AuthConfig) -> String {
    let members = [Some(config.as_value()), config.get("raw_auth_credential"), config.get("auth_scheme")];
    // The scheme's keys come from OpenAPI and keep their casing.
    let named =
        members.into_iter().flatten().flat_map(|member| [member.get("credential_key"), member.get("credentialKey")]);
    match named.flatten().filter_map(Value::as_str).find(|key| !key.is_empty()) {
        Some(key) => key.to_owned(),
        None => default_key(config),
    }
}

fn default_key(config: &AuthConfig) -> String {
    let mut config = to_camel(config).expect("a JSON document has a JSON form");
    let scheme = scheme(config["authScheme"].take());
    let mut key = format!("adk_{}_{}_", text(&scheme["type"]), digest(scheme.clone()));
    if let Value::Object(raw) = config["rawAuthCredential"].take() {
        let credential = credential(raw);
        key.push_str(&format!("{}_{}", text(&credential["authType"]), digest(credential.clone())));
    }
    key
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the scheme with the fields that google-adk's model for its kind has.
fn scheme(scheme: Value) -> Value {
    let Value::Object(mut scheme) = scheme else {
        return json!({});
    };
    if let Some(place) = scheme.remove("in_") {
        scheme.insert("in".to_owned(), place);
    }
    let bearer = scheme.get("scheme").is_some_and(|scheme| scheme == "bearer");
    let discovered = scheme.contains_key("authorization_endpoint") && scheme.contains_key("token_endpoint");
    let fields: &[&str] = match scheme.get("type").map(text).unwrap_or_default() {
        "apiKey" => &["type", "description", "in", "name"],
        "http" if bearer => &["type", "description", "scheme", "bearerFormat"],
        "http" => &["type", "description", "scheme"],
        "oauth2" => &["type", "description", "flows"],
        "openIdConnect" if discovered => &[
            "type",
            "description",
            "authorization_endpoint",
            "token_endpoint",
            "userinfo_endpoint",
            "revocation_endpoint",
            "token_endpoint_auth_methods_supported",
            "grant_types_supported",
            "scopes",
        ],
        "openIdConnect" => &["type", "description", "openIdConnectUrl"],
        _ => &["type"],
    };
    scheme.retain(|field, _| fields.contains(&field.as_str()));
    if let Some(Value::Object(flows)) = scheme.get_mut("flows") {
        for flow in ["implicit", "password", "clientCredentials", "authorizationCode"] {
            if let Some(Value::Object(flow)) = flows.get_mut(flow) {
                set_default(flow, "scopes", json!({}));
            }
        }
    }
    scheme.into()
}

/// Returns the credential with the fields and defaults of google-adk's model, without the transient fields.
fn credential(mut credential: Map) -> Value {
    let fields = ["authType", "resourceRef", "apiKey", "http", "serviceAccount", "oauth2"];
    credential.retain(|field, _| fields.contains(&field.as_str()));
    if let Some(Value::Object(oauth2)) = credential.get_mut("oauth2") {
        oauth2.retain(|field, _| !TRANSIENT.contains(&field.as_str()));
        set_default(oauth2, "tokenEndpointAuthMethod", json!("client_secret_basic"));
    }
    if let Some(Value::Object(account)) = credential.get_mut("serviceAccount") {
        set_default(account, "useDefaultCredential", json!(false));
        set_default(account, "useIdToken", json!(false));
        if let Some(Value::Object(key)) = account.get_mut("serviceAccountCredential") {
            set_default(key, "type", json!(""));
        }
    }
    credential.into()
}

fn set_default(object: &mut Map, field: &str, default: Value) {
    object.entry(field).or_insert(default);
}

/// Returns the first 16 hex digits of the SHA-256 of the document, serialised as in google-adk.
fn digest(mut document: Value) -> String {
    without_nulls(&mut document);
    document.sort_all_objects();
    Sha256::digest(document.to_string()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|_, value| !value.is_null());
            object.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(config: Value, expected: &str) {
        assert_eq!(credential_key(&AuthConfig::new(config)), expected);
    }

    #[test]
    fn s85_a_config_may_name_its_key() {
        let scheme = json!({"type": "apiKey", "in": "query", "name": "k"});
        check(json!({"authScheme": scheme, "credentialKey": "own"}), "own");
        check(json!({"auth_scheme": scheme, "credential_key": "own"}), "own");
        let named = json!({"type": "apiKey", "in": "query", "name": "k", "credentialKey": "scheme"});
        check(json!({"authScheme": named}), "scheme");
        let raw = json!({"authType": "apiKey", "apiKey": "k", "credentialKey": "raw"});
        check(json!({"authScheme": named, "rawAuthCredential": raw}), "raw");
    }

    /// google-adk 2.13.0 has these keys for the same configurations.
    #[test]
    fn s85_without_a_name_the_key_is_made_of_scheme_and_credential() {
        check(
            json!({"authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"}}),
            "adk_apiKey_9a46dad5a84303f3_",
        );
        check(
            json!({"authScheme": {"type": "apiKey", "in": "header", "name": "X-Key", "x-extra": 1, "description": "d"}, "rawAuthCredential": {"authType": "apiKey", "apiKey": "k"}}),
            "adk_apiKey_062e1f162acaf9d8_apiKey_39fdaa2147b3f2d1",
        );
        check(json!({"authScheme": {"type": "http", "scheme": "bearer"}}), "adk_http_178204f758fb78d5_");
        check(
            json!({"authScheme": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}, "rawAuthCredential": {"authType": "http", "http": {"scheme": "bearer", "credentials": {"token": "ü"}, "additionalHeaders": {"X-b": "1", "X-a": "2"}}}}),
            "adk_http_3e922d755264ee81_http_0dd5487e52cf44f1",
        );
        check(
            json!({"authScheme": {"type": "http", "scheme": "basic", "bearerFormat": "x"}}),
            "adk_http_fc8df715f5002444_",
        );
        check(
            json!({"authScheme": {"type": "oauth2", "flows": {"authorizationCode": {"authorizationUrl": "https://a", "tokenUrl": "https://t", "scopes": {"b": "B", "a": "A"}}}}, "rawAuthCredential": {"authType": "oauth2", "oauth2": {"clientId": "c", "clientSecret": "s", "authUri": "u", "state": "st", "redirectUri": "r", "expiresAt": 5, "nonce": "n"}}}),
            "adk_oauth2_b4ff14248d47019d_oauth2_ab56f1af6fb199bf",
        );
        check(
            json!({"authScheme": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://t"}}}, "rawAuthCredential": {"authType": "oauth2", "oauth2": {"clientId": "c", "tokenEndpointAuthMethod": null}}}),
            "adk_oauth2_5a125766a52fdff6_oauth2_c10092a828d799d6",
        );
        check(
            json!({"authScheme": {"type": "oauth2", "flows": {}}, "rawAuthCredential": {"authType": "oauth2", "oauth2": {}}}),
            "adk_oauth2_af2ee39c20332b82_oauth2_568f9b41ce90cf13",
        );
        check(
            json!({"authScheme": {"type": "openIdConnect", "openIdConnectUrl": "https://o"}, "rawAuthCredential": {"authType": "openIdConnect", "oauth2": {"client_id": "c", "client_secret": "s"}}}),
            "adk_openIdConnect_344f953093d1b2c8_openIdConnect_0fc9cd5146d7b0c2",
        );
        check(
            json!({"authScheme": {"type": "openIdConnect", "authorization_endpoint": "a", "token_endpoint": "t", "scopes": ["x", "y"], "userinfo_endpoint": null}}),
            "adk_openIdConnect_10a6a0403929e28d_",
        );
        check(
            json!({"authScheme": {"type": "openIdConnect", "authorization_endpoint": "a", "token_endpoint": "t", "openIdConnectUrl": "https://o"}}),
            "adk_openIdConnect_418ee4a8def93eb5_",
        );
        check(
            json!({"authScheme": {"type": "myScheme", "thing": 1}, "rawAuthCredential": {"authType": "serviceAccount", "serviceAccount": {"scopes": ["a"], "useDefaultCredential": true}}}),
            "adk_myScheme_0c9e4feb27d86547_serviceAccount_6cf9d8fac0999c5c",
        );
        check(
            json!({"authScheme": {"type": "http", "scheme": "basic"}, "rawAuthCredential": {"authType": "serviceAccount", "serviceAccount": {"scopes": ["a"], "serviceAccountCredential": {"projectId": "p", "privateKeyId": "i", "privateKey": "k", "clientEmail": "e", "clientId": "c", "authUri": "a", "tokenUri": "t", "authProviderX509CertUrl": "x", "clientX509CertUrl": "y", "universeDomain": "u"}}}}),
            "adk_http_fc8df715f5002444_serviceAccount_4f3d3e0caef07a67",
        );
        check(
            json!({"authScheme": {"type": "apiKey", "in": "query", "name": "k"}, "credentialKey": ""}),
            "adk_apiKey_ee8508dd320da362_",
        );
        check(
            json!({"authScheme": {"type": "apiKey", "in": "query", "name": "k"}, "rawAuthCredential": {"authType": "apiKey", "apiKey": "k", "resourceRef": "r", "other": 2}, "exchangedAuthCredential": {"authType": "apiKey", "apiKey": "z"}}),
            "adk_apiKey_ee8508dd320da362_apiKey_dd64f6e435ceaa41",
        );
        check(
            json!({"authScheme": {"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "https://a", "x-y": 1, "refreshUrl": null}}}}),
            "adk_oauth2_3f0f36252cf0df0b_",
        );
    }
}
