//! Credentials of tools and nodes: the services that keep them, and what clients have sent.
//!
//! The rules about configs, requests and answers are in `pleach-auth`.

mod ask;
mod sent;
mod services;

use std::sync::Arc;

use pleach_auth::AuthCredential;
use pleach_core::{AuthConfig, BoxFuture};

use crate::{Context, CredentialService, NodeError};

pub use ask::{SentCredential, accept_credential, credential_question, sent_credential};
pub use sent::{KeptCredentials, TakenCredentials};
pub(crate) use services::auth_response;
pub use services::{InMemoryCredentialService, SessionStateCredentialService};

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
