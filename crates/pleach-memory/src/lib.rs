//! Memory: search in the messages of earlier sessions.
//!
//! This crate owns the [`MemoryService`] trait and [`InMemoryMemoryService`], which searches by keywords. It also
//! has helpers for other services: [`words`], times ([`local_time`], [`parse_local_time`]) and ids
//! ([`short_digest`]). A memory is for recall, not storage: the events themselves stay in the session service.

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
