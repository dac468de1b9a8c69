//! Events of `tracing` that metrics count: what no span begins or ends with.

use pleach_core::QuestionKind;
use tracing::{Level, debug, level_enabled};

/// The name of the event that a request to a model is sent again after a wait. The client of the model reports it.
pub const MODEL_RETRY: &str = "pleach.model.retry";
/// The name of the event that a question was asked.
pub const QUESTION_OPENED: &str = "pleach.question.opened";
/// The name of the event that a question needs no answer any more.
pub const QUESTION_CLOSED: &str = "pleach.question.closed";

/// Returns whether a subscriber may want to know of questions: to find them costs a look at the log.
#[must_use]
pub fn wants_questions() -> bool {
    level_enabled!(Level::DEBUG)
}

/// Reports that a question was stored.
pub fn question_opened(kind: QuestionKind) {
    debug!(name: "pleach.question.opened", target: "pleach", kind = kind.as_str(), "a question is open");
}

/// Reports that a question was answered, or its invocation aborted.
pub fn question_closed(kind: QuestionKind) {
    debug!(name: "pleach.question.closed", target: "pleach", kind = kind.as_str(), "a question is closed");
}
