//! `pleach::testkit` through its public API: it passes for correct workflows and finds planted faults.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod clock;
mod contract;
mod faults;
mod human;
mod interleavings;
mod payloads;
mod resume;
mod resume_checks;
mod stores;
mod support;
mod traces;
