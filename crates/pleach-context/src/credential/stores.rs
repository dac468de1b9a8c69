//! The two places for credentials.

use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::sync::{Mutex, PoisonError};

use pleach_core::{AppName, AuthConfig, BoxFuture, UserId};
use serde_json::Value;

use super::{AuthCredential, CredentialService, key_of};
use crate::{Context, NodeError};

/// Keeps credentials in memory, per app and user. ADK: `InMemoryCredentialService`.
#[derive(Default)]
pub struct InMemoryCredentialService {
    kept: Mutex<BTreeMap<(AppName, UserId, String), AuthCredential>>,
}

impl InMemoryCredentialService {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn save(&self, config: &AuthConfig, ctx: &Context) -> Result<(), NodeError> {
        let credential = exchanged(config)?.map(|(_, credential)| credential);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match credential {
            Some(credential) => kept.insert(owner(config, ctx), credential),
            None => kept.remove(&owner(config, ctx)),
        };
        Ok(())
    }
}

fn owner(config: &AuthConfig, ctx: &Context) -> (AppName, UserId, String) {
    let key = ctx.invocation().session_key();
    (key.app_name.clone(), key.user_id.clone(), key_of(config))
}

/// The credential that `config` brings along, as it came and as it is understood.
fn exchanged(config: &AuthConfig) -> Result<Option<(Value, AuthCredential)>, NodeError> {
    let Some(value) = config.get("exchanged_auth_credential").filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    match serde_json::from_value(value.clone()) {
        Ok(credential) => Ok(Some((value.clone(), credential))),
        // Without the reader's text, which may quote a secret.
        Err(_) => Err(NodeError::validation("the exchanged_auth_credential of the auth config is no credential")),
    }
}

impl CredentialService for InMemoryCredentialService {
    fn load_credential<'a>(
        &'a self,
        config: &'a AuthConfig,
        ctx: &'a Context,
    ) -> BoxFuture<'a, Result<Option<AuthCredential>, NodeError>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&owner(config, ctx)).cloned();
        Box::pin(ready(Ok(kept)))
    }

    fn save_credential<'a>(&'a self, config: &'a AuthConfig, ctx: &'a Context) -> BoxFuture<'a, Result<(), NodeError>> {
        Box::pin(ready(self.save(config, ctx)))
    }
}

impl fmt::Debug for InMemoryCredentialService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InMemoryCredentialService")
    }
}

/// Keeps credentials in the session's state, under the config's `credential_key`.
///
/// They are stored with the session, and every reader of the session can read the user's tokens. The OAuth client's
/// secret is the agent's and not the user's: it is left out, and put back from the config when loading. A credential
/// that should be gone with the invocation has a `credential_key` that starts with `temp:`.
///
/// ADK: `SessionStateCredentialService`.
// S85
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionStateCredentialService;

impl CredentialService for SessionStateCredentialService {
    fn load_credential<'a>(
        &'a self,
        config: &'a AuthConfig,
        ctx: &'a Context,
    ) -> BoxFuture<'a, Result<Option<AuthCredential>, NodeError>> {
        // A value under the key that is no credential belongs to other code and is ignored (S85).
        let kept = ctx.state().value(&key_of(config)).and_then(|value| serde_json::from_value(value).ok());
        Box::pin(ready(Ok(kept.map(|credential| with_client(credential, config, &[CLIENT_SECRET])))))
    }

    fn save_credential<'a>(&'a self, config: &'a AuthConfig, ctx: &'a Context) -> BoxFuture<'a, Result<(), NodeError>> {
        let saved = exchanged(config).and_then(|exchanged| {
            let kept = exchanged.map_or(Value::Null, |(value, _)| without_client_secret(value));
            ctx.state().set(key_of(config), kept)
        });
        Box::pin(ready(saved))
    }
}

/// The credential that a client has sent for `config`: the invocation's, else the session's. The OAuth client is the
/// config's, whatever the sent one says. ADK: `AuthHandler.get_auth_response`, without the exchange for a token.
pub(crate) fn auth_response(config: &AuthConfig, ctx: &Context) -> Option<AuthCredential> {
    let key = key_of(config);
    let kept = ctx.state().value(&format!("temp:{key}")).filter(Value::is_object);
    let kept = kept.or_else(|| ctx.state().value(&key))?;
    Some(with_client(serde_json::from_value(kept).ok()?, config, &[CLIENT_ID, CLIENT_SECRET]))
}

pub(super) const CLIENT_ID: &str = "client_id";
pub(super) const CLIENT_SECRET: &str = "client_secret";

pub(super) fn without_client_secret(mut credential: Value) -> Value {
    if let Some(Value::Object(oauth2)) = credential.get_mut("oauth2") {
        oauth2.remove(CLIENT_SECRET);
    }
    credential
}

/// Gives an OAuth2 credential these fields of the config's client, none where the client has none.
pub(super) fn with_client(mut credential: AuthCredential, config: &AuthConfig, fields: &[&str]) -> AuthCredential {
    let client = config.get("raw_auth_credential").and_then(|raw| raw.get("oauth2")).and_then(Value::as_object);
    if let (Some(client), Some(oauth2)) = (client, &mut credential.oauth2) {
        let mut value = oauth2.as_value().clone();
        if let Value::Object(kept) = &mut value {
            for field in fields {
                match client.get(*field) {
                    Some(given) => kept.insert((*field).to_owned(), given.clone()),
                    None => kept.remove(*field),
                };
            }
        }
        *oauth2 = value.into();
    }
    credential
}
