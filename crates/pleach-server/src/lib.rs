//! Serves the HTTP and SSE API of ADK: the sessions, runs, artifacts and memory of apps.
//!
//! - [`Server`] takes apps and shared services and builds a Runner for each app.
//! - The built [`ApiServer`] listens on an address as a [`BoundServer`], or returns its routes for another service.
//! - For every request, the host and the origin are checked first. Then the [`Caller`] is found, who must be allowed to
//!   act for the user that the request names.
//! - Each run has its own task, which holds at most one event for its client. So a slow client slows down only its own
//!   run.
//! - The feature `inspect` adds pages that show sessions, send messages and answer questions. The feature `dev` adds
//!   the routes of a browser UI: its files, pictures of apps, and traces of runs.
//! - The crate uses services and Runners, but never names a backend. It reads requests and writes replies; the Runners
//!   decide about runs.

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
