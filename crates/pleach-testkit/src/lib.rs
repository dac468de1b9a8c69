//! What pleach's own tests share: fixed time, counted ids, and the contract every session service must keep.
//!
//! Used as a dev-dependency, and from `tests/` folders only.

pub mod contract;
mod fixed_clock;
mod seq_ids;

pub use fixed_clock::FixedClock;
pub use seq_ids::SeqIds;
