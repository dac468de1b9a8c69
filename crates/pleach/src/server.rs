//! The HTTP and SSE API of ADK: serves apps to front ends and tools that are made for ADK.
//!
//! `docs/server.md` describes the routes, limits and guards, and how callers are bound to users.

#[cfg(feature = "inspector")]
pub use pleach_server::Inspector;
pub use pleach_server::{
    ApiServer, BoundServer, Caller, CallerRights, Server, ServerError, ServerLimits, shutdown_signal,
};
#[cfg(feature = "dev")]
pub use pleach_server::{DevUi, Traces};
