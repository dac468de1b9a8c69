//! Credentials of tools and nodes: what is asked for, and where it is kept.

mod answer;
mod kept;
mod key;
mod oauth;
mod request;
mod stores;

use std::fmt;
use std::sync::Arc;

use pleach_core::{AuthConfig, AuthDocument, BoxFuture};
use serde::{Deserialize, Serialize};

use crate::{Context, NodeError};

pub use answer::{SentCredential, accept_credential, sent_credential};
pub use kept::{KeptCredentials, TakenCredentials};
pub(crate) use key::key_of;
pub(crate) use request::auth_request;
pub use request::credential_question;
pub(crate) use stores::auth_response;
pub use stores::{InMemoryCredentialService, SessionStateCredentialService};

/// A credential: a key, a token, or what is needed to get one. Debug output never shows it.
///
/// ADK: `AuthCredential`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct AuthCredential {
    /// The kind: `apiKey`, `http`, `oauth2`, `openIdConnect`, `serviceAccount`.
    #[serde(alias = "authType")]
    pub auth_type: String,
    /// The name of a credential that is kept elsewhere.
    #[serde(default, alias = "resourceRef", skip_serializing_if = "Option::is_none")]
    pub resource_ref: Option<String>,
    /// The API key, for kind `apiKey`.
    #[serde(default, alias = "apiKey", skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// The HTTP scheme and its credentials, for kind `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<AuthDocument>,
    /// The OAuth2 client, codes and tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth2: Option<AuthDocument>,
    /// The service account and its scopes.
    #[serde(default, alias = "serviceAccount", skip_serializing_if = "Option::is_none")]
    pub service_account: Option<AuthDocument>,
}

impl AuthCredential {
    /// A credential of a kind, with nothing in it yet.
    pub fn of(auth_type: impl Into<String>) -> Self {
        let auth_type = auth_type.into();
        Self { auth_type, resource_ref: None, api_key: None, http: None, oauth2: None, service_account: None }
    }

    /// An API key.
    pub fn api_key(key: impl Into<String>) -> Self {
        Self { api_key: Some(key.into()), ..Self::of("apiKey") }
    }
}

impl fmt::Debug for AuthCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Anything else may be a secret in the wrong place.
        let kind = answer::KINDS.into_iter().find(|kind| *kind == self.auth_type);
        f.debug_struct("AuthCredential").field("auth_type", &kind).finish_non_exhaustive()
    }
}

/// Keeps credentials of users, each under the `credential_key` of its config.
///
/// A config that names no key has google-adk's, which is made of its scheme and its raw credential.
///
/// ADK: `BaseCredentialService`
// S85
pub trait CredentialService: fmt::Debug + Send + Sync + 'static {
    /// The credential kept for the config and the user of `ctx`.
    ///
    /// # Errors
    /// What the storage behind the service says.
    fn load_credential<'a>(
        &'a self,
        config: &'a AuthConfig,
        ctx: &'a Context,
    ) -> BoxFuture<'a, Result<Option<AuthCredential>, NodeError>>;

    /// Keeps the config's `exchanged_auth_credential`; without one nothing is kept for the config any more.
    ///
    /// # Errors
    /// A `ValidationError` when the config holds something else there; what the storage behind the service says.
    ///
    /// # Cancel safety
    /// When the future is dropped the credential is kept whole or not at all.
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
