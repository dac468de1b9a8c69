//! Memory in an SQLite file, in the tables that google-adk's `SqliteMemoryService` reads and writes.
//!
//! This crate owns the file: its tables, its full-text index, and the words for which the index is searched.
//! `pleach-memory` defines what a memory service is.

mod fault;
mod metadata;
mod options;
mod row;
mod schema;
mod service;
mod words;

pub use options::SqliteMemoryOptions;
pub use service::SqliteMemoryService;
