//! Credentials: what a client is asked for, what it may see, and what it may answer.
//!
//! Plain functions over [`AuthConfig`](pleach_core::AuthConfig) and [`AuthCredential`]:
//! - [`credential_key`] names the entry a credential is stored under;
//! - [`auth_request`] prepares the config for the client: the OAuth2 sign-in address is added, the agent's secrets are removed;
//! - [`hide_secrets`] removes what no client, page or terminal may see of them;
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
