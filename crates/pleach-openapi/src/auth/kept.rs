//! Stores the credentials that clients have sent, in the invocation and in the app's credential service.

use pleach_auth::{AuthCredential, credential_key, without_client_secret};
use pleach_context::{NodeError, ToolContext};
use pleach_core::AuthConfig;
use serde_json::Value;

use super::fields::identity;

/// Access to the kept credential of one config.
pub(super) struct Kept<'a> {
    pub(super) config: &'a AuthConfig,
    pub(super) ctx: &'a ToolContext,
}

impl Kept<'_> {
    /// Returns the credential that the client has sent in this invocation, or the token that replaced it.
    pub(super) fn answered(&self) -> Option<AuthCredential> {
        let is_there = self.ctx.state().value(&self.key()).is_some_and(|kept| kept.is_object());
        is_there.then(|| self.ctx.get_auth_response(self.config)).flatten()
    }

    /// Returns the credential of an earlier invocation.
    ///
    /// # Errors
    /// The credential service fails.
    pub(super) async fn stored(&self) -> Result<Option<AuthCredential>, NodeError> {
        if self.has_service() { self.ctx.load_credential(self.config).await } else { Ok(None) }
    }

    /// Keeps a credential for the rest of the invocation, and for later ones if there is a service.
    ///
    /// # Errors
    /// The credential service fails.
    pub(super) async fn keep(&self, credential: &AuthCredential) -> Result<(), NodeError> {
        self.ctx.reserved_state().set(self.key(), json_of(credential))?;
        self.store(Some(credential)).await
    }

    /// Keeps a credential for later invocations; `None` removes it.
    ///
    /// # Errors
    /// The credential service fails.
    pub(super) async fn store(&self, credential: Option<&AuthCredential>) -> Result<(), NodeError> {
        if !self.has_service() {
            return Ok(());
        }
        let mut config = self.config.as_value().clone();
        config["exchanged_auth_credential"] = credential.map(json_of).unwrap_or_default();
        self.ctx.save_credential(&AuthConfig::new(config)).await
    }

    /// Replaces `old` by `new` wherever it is kept. Another credential, which a parallel call may have stored, stays.
    ///
    /// # Errors
    /// The credential service fails.
    pub(super) async fn replace(&self, old: &AuthCredential, new: Option<&AuthCredential>) -> Result<(), NodeError> {
        let is_old = |kept: &AuthCredential| identity(kept) == identity(old);
        if self.answered().as_ref().is_some_and(is_old) {
            self.ctx.reserved_state().set(self.key(), new.map(json_of).unwrap_or_default())?;
        }
        if self.stored().await?.as_ref().is_some_and(is_old) {
            self.store(new).await?;
        }
        Ok(())
    }

    fn key(&self) -> String {
        format!("temp:{}", credential_key(self.config))
    }

    /// Returns true if the app has a service that keeps credentials beyond the invocation.
    fn has_service(&self) -> bool {
        self.ctx.invocation().credential_service().is_some()
    }
}

/// Returns the JSON form. The secret of the OAuth2 client belongs to the program and is not kept for each user.
fn json_of(credential: &AuthCredential) -> Value {
    without_client_secret(serde_json::to_value(credential).unwrap_or_default())
}
