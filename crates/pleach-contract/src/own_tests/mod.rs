//! Helpers of pleach's own tests: skipped tests, logs of a test, Postgres schemas and poolers, memory, and the values that google-adk
//! read from its own databases.
//!
//! Programs cannot rely on this module. It is here because the crates below the Runner share this crate in their tests.

pub mod golden;
mod memory;
#[cfg(all(feature = "own-tests-postgres", unix))]
pub mod pooler;
#[cfg(feature = "own-tests-postgres")]
pub mod schema;
mod skip;
mod subscribe;

pub use memory::{check_copies_of_a_large_event, peak_memory};
#[cfg(all(feature = "own-tests-postgres", unix))]
pub use pooler::Pooler;
#[cfg(feature = "own-tests-postgres")]
pub use schema::Schema;
pub use skip::{SKIPPED_VARIABLE, skip};
pub use subscribe::subscribe;
