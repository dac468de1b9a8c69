//! The session service contract: one trait, its requests and errors, and the rules every backend shares.
//!
//! A session service is the only durable record of a run: history, state and their order live in it. This crate says
//! what such a service guarantees ([`SessionService`]) and holds the parts of appending that must not differ between
//! backends ([`prepare`], [`raw_state`]). It contains no storage.

mod error;
mod ext;
mod patience;
pub mod prepare;
pub mod raw_state;
mod request;
mod service;
mod since;

pub use error::{SessionError, SessionResult};
pub use ext::SessionServiceExt;
pub use patience::Patience;
pub use request::{CreateSession, GetSessionConfig, ListCursor, ListSessions, ListSessionsResponse};
pub use service::SessionService;
pub use since::Since;
