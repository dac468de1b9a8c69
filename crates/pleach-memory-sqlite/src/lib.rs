//! Memory in an SQLite file, in the tables google-adk's `SqliteMemoryService` reads and writes.
//!
//! Owns the file: its tables, its full-text index, and the words that index is asked for. What a memory service is,
//! is in `pleach-memory`.

mod fault;
mod metadata;
mod options;
mod private;
mod row;
mod schema;
mod service;
mod words;

pub use options::SqliteMemoryOptions;
pub use service::SqliteMemoryService;
