//! What pleach's own tests share: fixed time, counted ids, the contract every session service must keep, and what
//! google-adk read from its own databases.
//!
//! Used as a dev-dependency, and from `tests/` folders only.

pub mod contract;
mod fixed_clock;
pub mod golden;
mod memory;
mod seq_ids;
mod strict;

pub use fixed_clock::FixedClock;
pub use memory::{check_copies_of_a_large_event, peak_memory};
pub use seq_ids::SeqIds;
pub use strict::StrictSessionService;
