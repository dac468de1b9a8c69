//! Shared parts of pleach's own tests: clocks, counted ids, Postgres schemas and poolers, the contract that every
//! session service must keep, and the values that google-adk read from its own databases.
//!
//! Only tests, benchmarks and the conformance driver use this crate.

pub mod contract;
mod fixed_clock;
pub mod golden;
mod held_clock;
mod memory;
#[cfg(all(feature = "postgres", unix))]
pub mod pooler;
mod runtime_clock;
#[cfg(feature = "postgres")]
pub mod schema;
mod seq_ids;
mod skip;
mod strict;
mod subscribe;

pub use fixed_clock::FixedClock;
pub use held_clock::HeldClock;
pub use memory::{check_copies_of_a_large_event, peak_memory};
#[cfg(all(feature = "postgres", unix))]
pub use pooler::Pooler;
pub use runtime_clock::RuntimeClock;
#[cfg(feature = "postgres")]
pub use schema::Schema;
pub use seq_ids::SeqIds;
pub use skip::{SKIPPED_VARIABLE, skip};
pub use strict::StrictSessionService;
pub use subscribe::subscribe;
