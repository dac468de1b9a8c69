//! Answers questions at their deadlines.
//!
//! `schedule.rs` keeps the times, `watch.rs` waits for them, and `others.rs` reads the deadlines of other processes. Only
//! `answer.rs` stores events.

pub(crate) mod answer;
pub(crate) mod event;
pub(crate) mod others;
pub(crate) mod schedule;
pub(crate) mod watch;
