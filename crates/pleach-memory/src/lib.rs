//! Memory: search in the messages of earlier sessions.
//!
//! Owns the [`MemoryService`] trait and [`InMemoryMemoryService`], which searches by keywords, and what every service
//! that searches by words needs: [`words`] and [`local_time`]. A memory is recall, not storage: the events themselves
//! stay with the session service.

mod error;
mod inmemory;
mod service;
mod time;
pub mod words;

pub use error::{MemoryError, MemoryResult};
pub use inmemory::InMemoryMemoryService;
pub use service::{AddEvents, AddMemory, DeleteMemory, MemoryEntry, MemoryService, SearchMemory, SearchMemoryResponse};
pub use time::local_time;
