//! The credential services: one in memory, and one in the session's state.

use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::sync::{Mutex, PoisonError};

use pleach_auth::{AuthCredential, ClientFields, credential_key, with_client, without_client_secret};
use pleach_core::{AppName, AuthConfig, BoxFuture, UserId};
use serde_json::Value;

use crate::{Context, CredentialService, NodeError};

/// Keeps credentials in memory, per app and user, until the process ends.
///
/// # Example
/// ```
/// # use pleach_context::{Context, CredentialService, InMemoryCredentialService, NodeError};
/// # use pleach_core::AuthConfig;
/// async fn is_known(ctx: &Context, config: &AuthConfig) -> Result<bool, NodeError> {
///     let credentials = InMemoryCredentialService::new();
///     credentials.save_credential(config, ctx).await?;
///     Ok(credentials.load_credential(config, ctx).await?.is_some())
/// }
/// ```
///
/// ADK: `InMemoryCredentialService`.
#[derive(Default)]
pub struct InMemoryCredentialService {
    kept: Mutex<BTreeMap<(AppName, UserId, String), AuthCredential>>,
}

impl InMemoryCredentialService {
    /// Makes an empty service.
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
    (key.app_name.clone(), key.user_id.clone(), credential_key(config))
}

/// Returns the credential in `config`, both as its JSON and parsed.
fn exchanged(config: &AuthConfig) -> Result<Option<(Value, AuthCredential)>, NodeError> {
    let Some(value) = config.get("exchanged_auth_credential").filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    match serde_json::from_value(value.clone()) {
        Ok(credential) => Ok(Some((value.clone(), credential))),
        // serde's message may quote a secret.
        Err(_) => Err(NodeError::validation("the exchanged_auth_credential of the auth config is not a credential")),
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
/// They are stored with the session, so every reader of the session can read the user's tokens. The OAuth client's
/// secret belongs to the agent: it is not stored, and loading takes it from the config. A credential whose
/// `credential_key` starts with `temp:` lasts for the invocation only.
///
/// # Example
/// ```
/// # use pleach_context::{CredentialService, SessionStateCredentialService};
/// let credentials: Box<dyn CredentialService> = Box::new(SessionStateCredentialService);
/// ```
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
        // Any other value under the key belongs to other code and is ignored (S85).
        let kept = ctx.state().value(&credential_key(config)).and_then(read);
        Box::pin(ready(Ok(kept.map(|credential| with_client(credential, config, ClientFields::Secret)))))
    }

    fn save_credential<'a>(&'a self, config: &'a AuthConfig, ctx: &'a Context) -> BoxFuture<'a, Result<(), NodeError>> {
        let saved = exchanged(config).and_then(|exchanged| {
            let kept = exchanged.map_or(Value::Null, |(value, _)| without_client_secret(value));
            ctx.reserved_state().set(credential_key(config), kept)
        });
        Box::pin(ready(saved))
    }
}

/// Returns the credential that a client has sent for `config`: the invocation's, or otherwise the session's. Its OAuth
/// client is the one in the config. ADK: `AuthHandler.get_auth_response`, without the exchange for a token.
pub(crate) fn auth_response(config: &AuthConfig, ctx: &Context) -> Option<AuthCredential> {
    let key = credential_key(config);
    let kept = ctx.state().value(&format!("temp:{key}")).filter(Value::is_object);
    let kept = kept.or_else(|| ctx.state().value(&key))?;
    Some(with_client(read(kept)?, config, ClientFields::IdAndSecret))
}

/// Reads a credential from the state. Any other value is ignored, because clients may write it.
fn read(value: Value) -> Option<AuthCredential> {
    pleach_core::is_credential(&value).then(|| serde_json::from_value(value).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_no_client_may_write_is_read_as_a_credential() {
        assert!(read(json!({"auth_type": "apiKey", "api_key": "k"})).is_some());
        for other in [json!(["apiKey", null, "k"]), json!(["oauth2", null, null, null, {"access_token": "x"}])] {
            assert!(!pleach_core::is_credential(&other) && read(other.clone()).is_none(), "{other}");
        }
    }
}
