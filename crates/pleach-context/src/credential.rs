//! Credentials of tools and nodes: what is asked for, and where it is kept.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use pleach_core::{AppName, AuthConfig, BoxFuture, Owned, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Context, NodeError};

/// A credential: a key, a token, or what is needed to get one. Debug output never shows it.
///
/// ADK: `AuthCredential`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct AuthCredential {
    /// The kind: `apiKey`, `http`, `oauth2`, `openIdConnect`, `serviceAccount`.
    #[serde(alias = "authType")]
    pub auth_type: String,
    /// The API key, for kind `apiKey`.
    #[serde(default, alias = "apiKey", skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// The HTTP scheme and its credentials, for kind `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Owned>,
    /// The OAuth2 client, codes and tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth2: Option<Owned>,
    /// The service account and its scopes.
    #[serde(default, alias = "serviceAccount", skip_serializing_if = "Option::is_none")]
    pub service_account: Option<Owned>,
}

impl AuthCredential {
    /// An API key.
    pub fn api_key(key: impl Into<String>) -> Self {
        Self { auth_type: "apiKey".into(), api_key: Some(key.into()), http: None, oauth2: None, service_account: None }
    }
}

impl fmt::Debug for AuthCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthCredential").field("auth_type", &self.auth_type).finish_non_exhaustive()
    }
}

/// The key under which the credential of `config` is kept.
fn key_of(config: &AuthConfig) -> &str {
    config.get("credential_key").and_then(Value::as_str).unwrap_or_default()
}

/// The credential that `config` brings along, if it is one.
fn exchanged(config: &AuthConfig) -> Option<AuthCredential> {
    config.get("exchanged_auth_credential").and_then(|value| serde_json::from_value(value.clone()).ok())
}

/// Keeps credentials. ADK: `BaseCredentialService`; rule S85.
pub trait CredentialService: fmt::Debug + Send + Sync + 'static {
    /// The credential kept under the config's `credential_key` for the user of `ctx`.
    fn load_credential<'a>(
        &'a self,
        config: &'a AuthConfig,
        ctx: &'a Context,
    ) -> BoxFuture<'a, Result<Option<AuthCredential>, NodeError>>;

    /// Keeps the config's `exchanged_auth_credential` under its key; without one nothing happens.
    fn save_credential<'a>(&'a self, config: &'a AuthConfig, ctx: &'a Context) -> BoxFuture<'a, Result<(), NodeError>>;
}

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
}

fn owner(config: &AuthConfig, ctx: &Context) -> (AppName, UserId, String) {
    let key = ctx.invocation().session_key();
    (key.app_name.clone(), key.user_id.clone(), key_of(config).to_owned())
}

impl CredentialService for InMemoryCredentialService {
    fn load_credential<'a>(
        &'a self,
        config: &'a AuthConfig,
        ctx: &'a Context,
    ) -> BoxFuture<'a, Result<Option<AuthCredential>, NodeError>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&owner(config, ctx)).cloned();
        Box::pin(std::future::ready(Ok(kept)))
    }

    fn save_credential<'a>(&'a self, config: &'a AuthConfig, ctx: &'a Context) -> BoxFuture<'a, Result<(), NodeError>> {
        if let Some(credential) = exchanged(config) {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).insert(owner(config, ctx), credential);
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

impl fmt::Debug for InMemoryCredentialService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InMemoryCredentialService")
    }
}

/// Keeps credentials in the session's `temp:` state: gone with the invocation, never stored. ADK:
/// `SessionStateCredentialService`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionStateCredentialService;

impl SessionStateCredentialService {
    fn key(config: &AuthConfig) -> String {
        format!("temp:{}", key_of(config))
    }
}

impl CredentialService for SessionStateCredentialService {
    fn load_credential<'a>(
        &'a self,
        config: &'a AuthConfig,
        ctx: &'a Context,
    ) -> BoxFuture<'a, Result<Option<AuthCredential>, NodeError>> {
        // A value under the key that is no credential is somebody else's: ignored (S85).
        let kept = ctx.state().value(&Self::key(config)).and_then(|value| serde_json::from_value(value).ok());
        Box::pin(std::future::ready(Ok(kept)))
    }

    fn save_credential<'a>(&'a self, config: &'a AuthConfig, ctx: &'a Context) -> BoxFuture<'a, Result<(), NodeError>> {
        let saved = match exchanged(config) {
            Some(credential) => ctx.state().set(Self::key(config), credential),
            None => Ok(()),
        };
        Box::pin(std::future::ready(saved))
    }
}
