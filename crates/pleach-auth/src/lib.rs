//! Credentials: the requests to clients, the parts that clients may see, and the answers.
//!
//! Plain functions over [`AuthConfig`](pleach_core::AuthConfig) and [`AuthCredential`]:
//! - [`credential_key`] returns the name under which a credential is stored;
//! - [`auth_request`] prepares the config for the client: it adds the OAuth2 sign-in address and removes the agent's
//!   secrets;
//! - [`hide_secrets`] removes the parts of credentials that no client, page or terminal may see;
//! - [`CredentialQuestion`] is the event that asks, [`accept`] reads the client's answer.
//!
//! This crate stores nothing and does no I/O; `pleach-context` keeps credentials and reads the session's state.

mod answer;
mod client;
mod config;
mod credential;
mod error;
mod key;
mod oauth;
mod request;
mod secrets;

pub use answer::{Accepted, SignIn, accept};
pub use client::{ClientFields, with_client, without_client_secret};
pub use credential::AuthCredential;
pub use error::AuthError;
pub use key::credential_key;
pub use request::{CredentialQuestion, auth_request};
pub use secrets::{drop_shown_credentials, hide_secrets, hide_secrets_of, hide_secrets_of_call, may_hold_secrets};
