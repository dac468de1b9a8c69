//! The text of redacted values.

pub use pleach_core::notes::{PAYLOADS, REDACTIONS, REWIND_BEFORE_EVENT};

/// The text in the place of a value that was removed.
pub const REDACTED: &str = "[redacted]";
