//! The HTTP and SSE API of ADK over Runners: sessions, runs, artifacts and memory of apps.
//!
//! - [`Server`] takes apps and shared services and builds a Runner for each app.
//! - The built [`ApiServer`] gives routes to nest in another service, or listens by itself as a [`BoundServer`].
//! - Every request passes the guards of hosts and origins, then its [`Caller`] is found and bound to the user that it names.
//! - A run is driven by a task of its own that holds at most one event for its client, so a slow client costs nothing but its own run.
//! - Feature `inspect` has pages that show sessions and move them, and feature `dev` what a browser UI needs besides: its files, pictures of
//!   apps, traces of runs.
//! - The crate sees services and Runners, never a backend, and decides nothing about runs: it reads requests and writes replies.

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
