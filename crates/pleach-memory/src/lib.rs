//! Memory: search in the messages of earlier sessions.
//!
//! Owns the [`MemoryService`] trait and [`InMemoryMemoryService`], which searches by keywords, and what other
//! services need: [`words`], times ([`local_time`], [`parse_local_time`]) and ids ([`short_digest`]). A memory is recall, not storage: the events themselves
//! stay with the session service.

mod error;
mod inmemory;
mod service;
mod time;
pub mod words;

pub use error::{MemoryError, MemoryResult};
pub use inmemory::InMemoryMemoryService;
pub use service::{
    AddEvents, AddMemory, DeleteMemory, MemoryEntry, MemoryService, SearchMemory, SearchMemoryResponse, short_digest,
};
pub use time::{local_time, parse_local_time};
