//! The methods of `Context` for credentials.
// R220

use pleach_auth::AuthCredential;
use pleach_core::AuthConfig;

use super::Context;
use crate::credential::auth_response;
use crate::{CredentialService, NodeError};

impl Context {
    fn credentials(&self) -> Result<&dyn CredentialService, NodeError> {
        let service = self.inner.invocation.services().credentials.as_deref();
        service.ok_or_else(|| {
            NodeError::value("Credential service is not initialized.")
                .with_hint("give the runner one with `.credentials(…)`")
        })
    }

    /// Saves the credential that `config` contains.
    ///
    /// # Errors
    /// A `ValueError` if there is no credential service; the error of the service if it refuses the request.
    ///
    /// # Cancel safety
    /// If the future is dropped, the credential is saved completely or not at all.
    pub async fn save_credential(&self, config: &AuthConfig) -> Result<(), NodeError> {
        self.credentials()?.save_credential(config, self).await
    }

    /// Loads the credential that is saved for `config`.
    ///
    /// # Errors
    /// A `ValueError` if there is no credential service; the error of the service if it refuses the request.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn load_credential(&self, config: &AuthConfig) -> Result<Option<AuthCredential>, NodeError> {
        self.credentials()?.load_credential(config, self).await
    }

    /// Returns the credential that a client has sent for `config` in this invocation, or otherwise the one in the
    /// session's state.
    ///
    /// The OAuth client's id and secret are taken from `config`. ADK: `get_auth_response`.
    #[must_use]
    pub fn get_auth_response(&self, config: &AuthConfig) -> Option<AuthCredential> {
        auth_response(config, self)
    }
}
