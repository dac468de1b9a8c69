//! The HTTP and SSE API of ADK over Runners: sessions, runs, artifacts and memory of apps.
//!
//! - [`Server`] takes apps and shared services and builds a Runner for each app.
//! - The built [`ApiServer`] returns routes to nest in another service, or listens on its own as a [`BoundServer`].
//! - Every request passes the guards of hosts and origins, then its [`Caller`] is found and checked against the user
//!   that the request names.
//! - A run is driven by a task of its own that holds at most one event for its client, so a slow client only slows its
//!   own run.
//! - Feature `inspect` adds pages that show sessions and move them on. Feature `dev` adds what a browser UI needs: its
//!   files, pictures of apps, and traces of runs.
//! - The crate uses services and Runners, never a backend. It makes no decisions about runs: it reads requests and
//!   writes replies.

mod api;
mod api_server;
mod base;
mod body;
mod bound_server;
mod caller;
mod caller_rights;
mod connections;
mod cors;
mod description;
#[cfg(feature = "dev")]
mod dev;
mod entry;
mod error;
mod guard;
mod hosts;
#[cfg(feature = "inspect")]
mod inspect;
#[cfg(feature = "inspect")]
mod inspection;
mod json;
mod limits;
mod names;
mod origins;
mod path;
#[cfg(feature = "dev")]
mod peer;
mod query;
mod redact;
mod routes;
mod runs;
mod server;
mod setup_error;
mod shutdown_signal;
mod sse;

pub use api_server::ApiServer;
pub use bound_server::BoundServer;
pub use caller::Caller;
pub use caller_rights::CallerRights;
#[cfg(feature = "dev")]
pub use dev::{DevUi, Traces};
#[cfg(feature = "inspect")]
pub use inspect::Inspector;
pub use limits::ServerLimits;
pub use server::Server;
pub use setup_error::ServerError;
pub use shutdown_signal::shutdown_signal;
