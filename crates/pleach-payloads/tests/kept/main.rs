//! What is kept outside of events: that it comes back, the references to it, and what becomes of it.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod lifetimes;
mod losses;
mod places;
mod redact;
mod support;
mod values;
