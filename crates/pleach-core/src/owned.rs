//! JSON documents that belong to the framework, although no Rust type describes them.

use std::{fmt, mem};

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::Map;
use crate::casing::snake_key;
use crate::json::FieldName;

/// A JSON document whose keys are the framework's, for example usage metadata.
///
/// User data (`Value` or [`Map`]) keeps its keys, but the keys of this document are converted: snake_case in memory and
/// in stores, camelCase over HTTP.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Owned(Value);

/// The authentication that a tool needs: a scheme, a raw credential and the exchanged one.
///
/// JSON: `{auth_scheme, raw_auth_credential, exchanged_auth_credential, credential_key}`. The keys belong to the
/// framework, as in [`Owned`], with two exceptions. The keys inside `auth_scheme` are OpenAPI's own and are not
/// changed; only `type` and `in` are stored as `type_` and `in_`, google-adk's names for them. Extra HTTP headers are
/// user data.
///
/// Debug output shows the kinds of scheme and credential, and no other value.
///
/// ADK: `AuthConfig`
// S43
#[derive(Clone, Default, PartialEq)]
pub struct AuthConfig(Value);

impl fmt::Debug for AuthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |place: &str, name: &str| match self.get(place)?.get(name)?.as_str()? {
            // Any other value may be a secret in the wrong place.
            kind @ ("apiKey" | "http" | "oauth2" | "openIdConnect" | "serviceAccount") => Some(kind.to_owned()),
            _ => None,
        };
        let scheme = kind("auth_scheme", "type_");
        f.debug_struct("AuthConfig").field("scheme", &scheme).finish_non_exhaustive()
    }
}

/// A part of a credential: HTTP headers, an OAuth2 client with its tokens, or a service account.
///
/// The keys belong to the framework, as in [`Owned`], except that extra HTTP headers are user data. Debug output never
/// shows the document.
#[derive(Clone, Default, PartialEq)]
pub struct AuthDocument(Value);

impl fmt::Debug for AuthDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthDocument")
    }
}

macro_rules! document {
    ($name:ident, $place:expr) => {
        impl $name {
            /// Creates a document from JSON in either casing.
            pub fn new(mut value: Value) -> Self {
                to_snake(&mut value, $place);
                Self(value)
            }

            /// Returns the document, with keys in snake_case.
            pub fn as_value(&self) -> &Value {
                &self.0
            }

            /// Returns the document by value, with keys in snake_case.
            pub fn into_value(self) -> Value {
                self.0
            }

            /// Returns a member by its snake_case name.
            pub fn get(&self, key: &str) -> Option<&Value> {
                self.0.get(key)
            }
        }

        impl From<Value> for $name {
            fn from(value: Value) -> Self {
                Self::new(value)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                View(&self.0, $place).serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Value::deserialize(deserializer).map(Self::new)
            }
        }
    };
}

document!(Owned, KeyOwner::Framework);
document!(AuthConfig, KeyOwner::Auth);
document!(AuthDocument, KeyOwner::Auth);

/// The owner of an object's keys, which decides whether they are renamed.
#[derive(Clone, Copy, PartialEq)]
enum KeyOwner {
    /// The framework owns the keys at every level.
    Framework,
    /// The framework's auth models own the keys.
    Auth,
    /// OpenAPI owns the keys.
    Scheme,
    /// The user owns the keys at every level.
    User,
}

impl KeyOwner {
    /// Returns the owner of the keys inside the member `key` (snake_case).
    fn inside(self, key: &str) -> Self {
        match (self, key) {
            (Self::Auth, "auth_scheme") => Self::Scheme,
            (Self::Auth, "additional_headers") | (Self::Scheme | Self::User, _) => Self::User,
            (same, _) => same,
        }
    }

    /// Returns `true` if the member `key` (snake_case) has another name in camelCase.
    fn renames(self, key: &str) -> bool {
        match self {
            Self::Framework | Self::Auth => true,
            Self::Scheme => key == "type_",
            Self::User => false,
        }
    }

    /// Returns the stored name of the member `key`, which may be in either casing; `None` if it needs no change.
    fn kept_name(self, key: &str) -> Option<String> {
        match self {
            Self::Auth | Self::Scheme if key == "type" => Some("type_".to_owned()),
            // The name is `in_` over HTTP as well: google-adk returns it like that once it has stored the event.
            Self::Scheme if key == "in" => Some("in_".to_owned()),
            Self::Framework | Self::Auth => snake_key(key),
            Self::Scheme | Self::User => None,
        }
    }
}

fn to_snake(value: &mut Value, place: KeyOwner) {
    if place == KeyOwner::User {
        return;
    }
    match value {
        Value::Object(map) => map_to_snake(map, place),
        Value::Array(items) => items.iter_mut().for_each(|item| to_snake(item, place)),
        _ => {}
    }
}

fn map_to_snake(map: &mut Map, place: KeyOwner) {
    // Usually no key is renamed, and the members are only visited.
    if map.keys().any(|key| place.kept_name(key).is_some()) {
        let (renamed, right): (Vec<_>, Vec<_>) =
            mem::take(map).into_iter().partition(|(key, _)| place.kept_name(key).is_some());
        map.extend(right);
        // The renamed members come last, because a camelCase member wins over its snake_case twin (S45).
        map.extend(renamed.into_iter().map(|(key, value)| (place.kept_name(&key).unwrap_or(key), value)));
    }
    for (key, value) in map {
        to_snake(value, place.inside(key));
    }
}

/// Writes a document so that the camelCase adaptor knows which keys are the framework's.
struct View<'a>(&'a Value, KeyOwner);

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(value, place) = *self;
        match value {
            _ if place == KeyOwner::User => value.serialize(serializer),
            Value::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.len()))?;
                for (key, value) in object {
                    let value = View(value, place.inside(key));
                    if place.renames(key) {
                        map.serialize_entry(&FieldName(key), &value)?;
                    } else {
                        map.serialize_entry(key, &value)?;
                    }
                }
                map.end()
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(|item| View(item, place))),
            plain => plain.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{AuthConfig, AuthDocument, Owned};
    use crate::to_camel;

    #[test]
    fn debug_output_of_an_auth_config_shows_no_value() {
        let raw = json!({"authType": "apiKey", "apiKey": "hush"});
        let mut config = json!({"authScheme": {"type": "apiKey", "name": "hush"}, "rawAuthCredential": raw});
        assert_eq!(format!("{:?}", AuthConfig::new(config.clone())), r#"AuthConfig { scheme: Some("apiKey"), .. }"#);
        config["authScheme"]["type"] = json!("hush");
        assert_eq!(format!("{:?}", AuthConfig::new(config)), "AuthConfig { scheme: None, .. }");
        assert!(!format!("{:?}", AuthConfig::new(json!("hush"))).contains("hush"));
    }

    #[test]
    fn framework_keys_are_kept_in_snake_case() {
        let owned = Owned::new(json!({"promptTokenCount": 1, "cache_tokens_details": [{"tokenCount": 2}]}));
        let snake = json!({"prompt_token_count": 1, "cache_tokens_details": [{"token_count": 2}]});
        assert_eq!(owned.as_value(), &snake);
        assert_eq!(serde_json::to_value(&owned).unwrap(), snake);
        let camel = json!({"promptTokenCount": 1, "cacheTokensDetails": [{"tokenCount": 2}]});
        assert_eq!(to_camel(&owned).unwrap(), camel);
        assert_eq!(Owned::new(json!({"aB": 1, "a_b": 2})).get("a_b"), Some(&json!(1)));
    }

    // S43, and the document that google-adk 2.13.0 writes for the same configuration.
    #[test]
    fn auth_schemes_keep_openapis_keys() {
        let flows = json!({"authorizationCode": {"tokenUrl": "http://b", "scopes": {"readAll": "x"}}});
        let headers = json!({"X-Key": "1", "someHeader": "2"});
        let config = |scheme: &str, kind: &str, raw: &str, auth: &str, extra: &str, key: &str| -> Value {
            json!({
                scheme: {kind: "oauth2", "flows": flows},
                raw: {auth: "http", "http": {extra: headers}},
                key: "k",
            })
        };
        let names = ["authScheme", "type", "rawAuthCredential", "authType", "additionalHeaders", "credentialKey"];
        let camel = config(names[0], names[1], names[2], names[3], names[4], names[5]);
        let names =
            ["auth_scheme", "type_", "raw_auth_credential", "auth_type", "additional_headers", "credential_key"];
        let snake = config(names[0], names[1], names[2], names[3], names[4], names[5]);
        let auth = AuthConfig::new(camel.clone());
        assert_eq!(serde_json::to_value(&auth).unwrap(), snake);
        assert_eq!(to_camel(&auth).unwrap(), camel);
        assert_eq!(AuthConfig::new(snake), auth);
        let http = json!({"scheme": "x", "additionalHeaders": {"someHeader": "2"}});
        assert_eq!(to_camel(&AuthDocument::new(http.clone())).unwrap(), http);
    }

    // S43: google-adk 2.13.0 stores these names, and does not read other names back as it wrote them.
    #[test]
    fn api_key_schemes_are_kept_under_google_adks_names() {
        let flows = json!({"implicit": {"scopes": {"in": "x"}}});
        let auth = AuthConfig::new(json!({"auth_scheme": {"type": "apiKey", "in": "header", "flows": flows}}));
        let stored = json!({"auth_scheme": {"type_": "apiKey", "in_": "header", "flows": flows}});
        assert_eq!(serde_json::to_value(&auth).unwrap(), stored);
        let camel = json!({"authScheme": {"type": "apiKey", "in_": "header", "flows": flows}});
        assert_eq!(to_camel(&auth).unwrap(), camel);
        assert_eq!(AuthConfig::new(camel), auth);
    }
}
