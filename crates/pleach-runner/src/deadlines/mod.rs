//! Answers questions, and ends sleeps, at their deadlines.
//!
//! `schedule.rs` keeps the times, `watch.rs` waits for them, `others.rs` reads the deadlines of other processes, and
//! `answer_id.rs` computes the id of the answer. Only `answer.rs` starts runs, which store the answers. `due.rs`
//! is for schedulers, which wait for the times themselves.

pub(crate) mod answer;
pub(crate) mod answer_id;
pub(crate) mod due;
pub(crate) mod others;
pub(crate) mod schedule;
pub(crate) mod watch;
