//! `pleach::testkit` through its public API: it passes on workflows that are right, and finds what is planted in others.

#![expect(clippy::unwrap_used, reason = "a test that panics says what is wrong")]

mod clock;
mod faults;
mod human;
mod interleavings;
mod payloads;
mod resume;
mod resume_checks;
mod stores;
mod support;
mod traces;
