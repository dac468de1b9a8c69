//! Sessions in process memory.
//!
//! A complete session service at the cost of a lock and a push, for tests, tools and services without durability. The cost of
//! an append does not depend on the history, and loading shares the events instead of copying them.

mod asked;
mod directory;
mod open_index;
mod service;
mod shared;
mod stored;

pub use service::InMemorySessionService;
