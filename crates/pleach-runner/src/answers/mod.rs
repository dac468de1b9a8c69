//! Matches answers with their questions, and checks them.
//!
//! Answers come in a plain message (`check_message.rs`) or through `Runner::answer` (`check_answers.rs`). Nothing here stores.

pub(crate) mod asked_calls;
pub(crate) mod check_answers;
pub(crate) mod check_message;
pub(crate) mod event;
pub(crate) mod may_answer;
pub(crate) mod question_ref;
