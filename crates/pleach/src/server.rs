//! The HTTP and SSE API of ADK: apps for front ends and tools of the ADK world.
//!
//! `docs/server.md` describes the routes, limits and guards, and how callers are bound to users.

#[cfg(feature = "dev")]
pub use pleach_server::DevUi;
pub use pleach_server::{ApiServer, BoundServer, Caller, Server, ServerError, ServerLimits};
