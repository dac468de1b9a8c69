//! Matches answers with their questions, and checks them.
//!
//! Answers come in a plain message (`check_message.rs`) or through `Runner::answer` (`check_answers.rs`).
//! `asked_calls.rs` finds the call that an answer refers to.
//! `may_answer.rs` decides who may answer, and `answer_event.rs` makes an answer for programs without a Runner. Nothing
//! here stores events.

pub(crate) mod answer_event;
pub(crate) mod asked_calls;
pub(crate) mod check_answers;
pub(crate) mod check_message;
pub(crate) mod may_answer;
