//! Sessions kept in process memory.
//!
//! The whole rule set of a session service at the cost of a lock and a push: for tests, tools and services that may
//! forget. An append costs the same at any length of the history, and loading shares the events instead of copying them.

mod directory;
mod open_index;
mod service;
mod shared;
mod stored;

pub use service::InMemorySessionService;
