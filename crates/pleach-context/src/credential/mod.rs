//! Credentials of tools and nodes: the services that keep them, and the credentials that clients have sent.
//!
//! The rules about configs, requests and answers are in `pleach-auth`.

mod ask;
mod sent;
mod services;

use std::fmt;
use std::sync::Arc;

use pleach_auth::AuthCredential;
use pleach_core::{AuthConfig, BoxFuture};

use crate::{Context, NodeError};

pub use ask::{SentCredential, accept_credential, credential_question, sent_credential};
pub use sent::{KeptCredentials, TakenCredentials};
pub(crate) use services::auth_response;
pub use services::{InMemoryCredentialService, SessionStateCredentialService};

/// Keeps users' credentials, each under the `credential_key` of its config.
///
/// For a config that names no key, the key is google-adk's: a digest of the config's scheme and raw credential.
///
/// # Example
/// A tool loads the user's credential from the service, or asks the user for it.
/// ```
/// # use pleach_context::{NodeError, ToolContext};
/// # use pleach_core::AuthConfig;
/// async fn token(ctx: &ToolContext, config: &AuthConfig) -> Result<bool, NodeError> {
///     if ctx.load_credential(config).await?.is_some() {
///         return Ok(true);
///     }
///     ctx.request_credential(config.clone())?;
///     Ok(false)
/// }
/// ```
///
/// ADK: `BaseCredentialService`
// S85
#[doc(alias = "BaseCredentialService")]
pub trait CredentialService: fmt::Debug + Send + Sync + 'static {
    /// Loads the credential for the config and the user of `ctx`.
    ///
    /// # Errors
    /// The storage behind the service fails.
    fn load_credential<'a>(
        &'a self,
        config: &'a AuthConfig,
        ctx: &'a Context,
    ) -> BoxFuture<'a, Result<Option<AuthCredential>, NodeError>>;

    /// Saves the `exchanged_auth_credential` of the config. A config without one removes the saved credential.
    ///
    /// # Errors
    /// A `ValidationError` if that value of the config is not a credential. Also fails if the storage behind the
    /// service fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, the credential is saved completely or not at all.
    fn save_credential<'a>(&'a self, config: &'a AuthConfig, ctx: &'a Context) -> BoxFuture<'a, Result<(), NodeError>>;
}

impl<S: CredentialService + ?Sized> CredentialService for Arc<S> {
    fn load_credential<'a>(
        &'a self,
        config: &'a AuthConfig,
        ctx: &'a Context,
    ) -> BoxFuture<'a, Result<Option<AuthCredential>, NodeError>> {
        (**self).load_credential(config, ctx)
    }

    fn save_credential<'a>(&'a self, config: &'a AuthConfig, ctx: &'a Context) -> BoxFuture<'a, Result<(), NodeError>> {
        (**self).save_credential(config, ctx)
    }
}
