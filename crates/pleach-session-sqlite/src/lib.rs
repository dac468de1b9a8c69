//! Sessions in an SQLite file, in either of the two layouts that google-adk's services read and write.
//!
//! One thread owns the writing connection and commits the appends of all callers in groups; loads run on a few other
//! connections. Merges work on JSON text, so keys that a delta does not name keep their exact bytes.

mod column;
mod deadlines;
mod document;
mod event_filter;
mod fault;
mod inbox;
mod inbox_sql;
mod inbox_state;
mod layout;
mod list;
mod listing_sql;
mod load;
mod lock_wait;
mod options;
mod per_agent;
mod read_only;
mod service;
mod session_time;
mod sql;
mod time;
mod writer;

pub use layout::SqliteLayout;
pub use options::{SqliteOptions, Synchronous};
pub use per_agent::PerAgentSessionService;
pub use read_only::ReadOnlySqliteSessionService;
pub use service::SqliteSessionService;
