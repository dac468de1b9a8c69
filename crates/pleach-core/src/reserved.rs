//! Names and values that are reserved for the runtime, so that it can trust them. No client, message or node code may
//! write the reserved keys of the state and of `custom_metadata`. No client may write a credential under any key,
//! because a program may choose the key. [`StateRights`] decides about state changes; its callers decide what happens
//! when a change is refused.

use std::fmt;

use serde_json::Value;

use crate::{Map, Scope};

/// The prefixes of the `custom_metadata` keys that the runtime and its plugins read.
const METADATA: [&str; 4] = ["__adk_internal_", "_adk_", "_pleach_", "pleach_"];

/// The prefixes of the state keys that the runtime and its plugins read. They follow `app:`, `user:` or `temp:`.
/// Keys of sign-ins and credentials begin with `adk_`, because google-adk uses these names.
const STATE: [&str; 5] = ["__adk_internal_", "_adk_", "_pleach_", "adk_", "pleach_"];

/// The kinds of credentials. A stored credential is recognised by its kind. ADK: `AuthCredentialTypes`
pub const CREDENTIAL_KINDS: [&str; 5] = ["apiKey", "http", "oauth2", "openIdConnect", "serviceAccount"];

/// The members that make a credential usable.
const CREDENTIAL_MEMBERS: [&str; 8] =
    ["apiKey", "api_key", "http", "oauth2", "resourceRef", "resource_ref", "serviceAccount", "service_account"];

/// Returns `true` if a state value would be accepted as a credential. It is an object whose `auth_type` or
/// `authType` is a known kind, and it has a member that makes it usable.
#[must_use]
pub fn is_credential(value: &Value) -> bool {
    let mut kinds = ["auth_type", "authType"].into_iter().filter_map(|key| value.get(key)?.as_str());
    let has = |key: &str| value.get(key).is_some_and(|member| !member.is_null());
    kinds.any(|kind| CREDENTIAL_KINDS.contains(&kind)) && CREDENTIAL_MEMBERS.into_iter().any(has)
}

/// Returns `true` if a state key is reserved: without its scope prefix, the name begins with `_pleach_`, `pleach_`,
/// `_adk_`, `adk_` or `__adk_internal_`. As for scopes, case matters.
#[must_use]
pub fn is_reserved_state_key(key: &str) -> bool {
    let (_, name) = Scope::split(key);
    STATE.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns `true` if a key of `custom_metadata` is reserved: it begins with `_pleach_`, `pleach_`, `_adk_` or `__adk_internal_`.
#[must_use]
pub fn is_reserved_metadata_key(key: &str) -> bool {
    METADATA.iter().any(|prefix| key.starts_with(prefix))
}

/// Removes the reserved keys from metadata that a client, a model or node code has set.
pub fn drop_reserved_metadata(metadata: &mut Map) {
    metadata.retain(|key, _| !is_reserved_metadata_key(key));
}

/// The state keys that a writer may change. Reserved keys are refused to every writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateRights {
    /// All keys except the reserved ones.
    #[default]
    All,
    /// The keys of the user and the session, but no `app:` key.
    WithoutApp,
}

impl StateRights {
    /// Returns the reason why the writer may not change a key; `None` if it may.
    #[must_use]
    pub fn refusal(self, key: &str) -> Option<RefusedKey> {
        let why = match self {
            _ if is_reserved_state_key(key) => Refusal::Reserved,
            Self::WithoutApp if Scope::split(key).0 == Scope::App => Refusal::OfApp,
            Self::All | Self::WithoutApp => return None,
        };
        Some(RefusedKey { key: key.to_owned(), why })
    }

    /// Returns the reason why the writer may not set a key to this value; `None` if it may. A credential is refused
    /// under every key. An auth config chooses the key under which the runtime trusts a credential, and the writer
    /// may know that key.
    #[must_use]
    pub fn refusal_of(self, key: &str, value: &Value) -> Option<RefusedKey> {
        let credential = || is_credential(value).then(|| RefusedKey { key: key.to_owned(), why: Refusal::Credential });
        self.refusal(key).or_else(credential)
    }

    /// Removes from `delta` the keys that the writer may not change, if their values equal those in `state`. So a
    /// client may send the whole state back.
    ///
    /// # Errors
    /// Returns the first such key that has another value; `delta` is then unchanged.
    pub fn apply(self, delta: &mut Map, state: &Map) -> Result<(), RefusedKey> {
        for (key, value) in &*delta {
            let stored = state.get(key);
            let refused = self.refusal_of(key, value).or_else(|| self.refusal_of(key, stored?));
            if let Some(refused) = refused.filter(|_| stored != Some(value)) {
                return Err(refused);
            }
        }
        self.strip(delta);
        Ok(())
    }

    /// Removes from `delta` the keys that the writer may not change, and credentials.
    pub fn strip(self, delta: &mut Map) {
        delta.retain(|key, value| self.refusal_of(key, value).is_none());
    }
}

/// A state key that its writer may not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedKey {
    key: String,
    why: Refusal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Reserved,
    OfApp,
    Credential,
}

impl RefusedKey {
    /// Returns the key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// Shows a sentence that names the key and the remedy.
impl fmt::Display for RefusedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            Refusal::Reserved => "is reserved for the runtime: leave it out, or use another name",
            Refusal::Credential => "holds a credential, which only a sign-in may set: leave it out",
            Refusal::OfApp => "belongs to all users of the app, and this caller may not change it: leave it out",
        };
        write!(f, "state key '{}' {why}", self.key)
    }
}

impl std::error::Error for RefusedKey {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: serde_json::Value) -> Map {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn reserved_state_keys_are_known_in_every_scope() {
        for name in ["_pleach_budget:base:model_calls", "pleach_x", "_adk_x", "adk_oauth_state:q", "__adk_internal_x"] {
            for scope in ["", "app:", "user:", "temp:"] {
                assert!(is_reserved_state_key(&format!("{scope}{name}")), "{scope}{name}");
            }
        }
        for open in
            ["", "pleach", "_pleach", "adk", "x_pleach_", " _pleach_x", "_PLEACH_x", "user:x", "app:user:_pleach_x"]
        {
            assert!(!is_reserved_state_key(open), "{open}");
        }
    }

    #[test]
    fn reserved_metadata_keys_are_dropped() {
        let mut metadata = map(json!({"_pleach_budget": 1, "pleach_signal": 1, "pleach_completed_runs": [],
            "__adk_internal_x": 1, "trace": 1, "adk_trace": 1}));
        drop_reserved_metadata(&mut metadata);
        assert_eq!(metadata, map(json!({"trace": 1, "adk_trace": 1})));
    }

    #[test]
    fn unchanged_keys_may_be_sent_back() {
        let state = map(json!({"user:_pleach_budget:model_calls": 3, "app:x": 1, "k": 1}));
        let mut whole = state.clone();
        whole.insert("k".to_owned(), json!(2));
        let mut all = whole.clone();
        StateRights::All.apply(&mut all, &state).unwrap();
        assert_eq!(all, map(json!({"app:x": 1, "k": 2})));
        StateRights::WithoutApp.apply(&mut whole, &state).unwrap();
        assert_eq!(whole, map(json!({"k": 2})));
    }

    #[test]
    fn credentials_are_refused_under_every_key() {
        for kind in CREDENTIAL_KINDS {
            for form in ["auth_type", "authType"] {
                let credential = json!({form: kind, "oauth2": {"access_token": "x"}});
                let state = map(json!({"kept": credential}));
                for key in ["k", "kept2", "user:k", "app:k", "temp:k"] {
                    let mut delta = map(json!({key: credential}));
                    assert_eq!(StateRights::All.apply(&mut delta, &state).unwrap_err().key(), key);
                    StateRights::All.strip(&mut delta);
                    assert_eq!(delta, Map::new());
                }
                // A stored credential cannot be replaced or removed. If it is sent back unchanged, it is left out.
                for value in [json!(null), json!("x"), json!({form: kind})] {
                    assert!(StateRights::All.apply(&mut map(json!({"kept": value})), &state).is_err(), "{value}");
                }
                let mut whole = map(json!({"kept": credential, "mood": 1}));
                StateRights::All.apply(&mut whole, &state).unwrap();
                assert_eq!(whole, map(json!({"mood": 1})));
            }
        }
        for open in [
            json!("oauth2"),
            json!({"auth_type": "other", "api_key": "k"}),
            json!({"type": "oauth2", "api_key": "k"}),
            json!({"auth_type": "oauth2", "url": "of a connector"}),
            json!([{"auth_type": "http"}]),
        ] {
            assert_eq!(StateRights::All.refusal_of("k", &open), None, "{open}");
        }
    }

    #[test]
    fn a_delta_with_a_forbidden_change_is_refused_as_a_whole() {
        let state = map(json!({"user:_pleach_budget:model_calls": 3, "app:x": 1}));
        for (rights, delta, refused) in [
            (
                StateRights::All,
                json!({"k": 1, "user:_pleach_budget:model_calls": 0}),
                "user:_pleach_budget:model_calls",
            ),
            (StateRights::All, json!({"user:_pleach_budget:model_calls": null}), "user:_pleach_budget:model_calls"),
            (StateRights::All, json!({"_adk_new": null}), "_adk_new"),
            (StateRights::WithoutApp, json!({"app:x": 2}), "app:x"),
            (StateRights::WithoutApp, json!({"app:": 2}), "app:"),
        ] {
            let mut changed = map(delta.clone());
            let error = rights.apply(&mut changed, &state).unwrap_err();
            assert_eq!((error.key(), &changed), (refused, &map(delta)));
            assert!(error.to_string().contains(refused), "{error}");
        }
        assert_eq!(StateRights::All.refusal("app:x"), None);
    }
}
