//! Sessions kept in process memory.
//!
//! The whole rule set of a session service at the cost of a lock and a push: for tests, tools and services that may
//! forget. An append costs the same at any length of the history, and loading shares the events instead of copying them.

mod desk;
mod directory;
mod service;
mod stored;

pub use service::InMemorySessionService;
