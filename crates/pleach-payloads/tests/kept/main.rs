//! Values that are stored outside events: that they come back, the references to them, and how they are deleted.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod lifetimes;
mod losses;
mod places;
mod redact;
mod support;
mod values;
