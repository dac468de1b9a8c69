//! Sessions in process memory.
//!
//! A complete session service for tests, tools and services that need no durability. An append costs a lock and a push,
//! however long the history is, and loading shares the events instead of copying them.

mod asked;
mod directory;
mod open_index;
mod service;
mod shared;
mod stored;

pub use service::InMemorySessionService;
