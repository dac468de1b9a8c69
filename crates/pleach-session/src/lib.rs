//! The session service contract: one trait, its requests and errors, and the rules every backend shares.
//!
//! A session service is the only durable record of a run: history, state and their order. This crate has three
//! parts:
//! - the contract ([`SessionService`]),
//! - the steps of an append that must not differ between backends ([`prepare`], [`raw_state`]),
//! - the pure rules about a log: which events are effective after rewinds ([`effective_events`]), and which
//!   questions are open ([`open_questions`]).
//!
//! It contains no storage.

mod backoff;
mod effective_events;
mod error;
mod ext;
mod faults;
#[doc(hidden)]
pub mod forward;
mod inbox;
mod known_state;
mod listing;
pub mod notes;
mod open_questions;
pub mod prepare;
mod prompt_size;
pub mod raw_state;
mod redact;
mod redaction_error;
mod request;
mod service;
mod since;
mod stored_json;
mod summaries;
mod summarizer;
mod visible;

pub use backoff::Backoff;
pub use effective_events::{
    effective_events, effective_events_and_rewinds, effective_events_of, newest_effective_events, partly_rewound,
    set_rewind_before_event,
};
pub use error::{LostPayload, SessionError, SessionResult};
pub use ext::SessionServiceExt;
pub use faults::{SessionFault, report_fault, report_unreadable};
pub use inbox::{
    Asked, Behind, Gathering, InboxItem, ListQuestions, ListQuestionsResponse, LogPlace, NewDeadlines, Open, PAGE,
    PROJECTION, Projected, Projection, ProjectionError, ProjectionResult, QuestionCursor, QuestionRow, asked_questions,
    concerns_questions, is_rewind, list_projected, refresh_projection,
};
pub use known_state::KnownState;
pub use listing::{Listed, SharedState, readable};
pub use notes::{
    BY_DEADLINE, FORK_CONTINUED, FORKED_FROM, PAYLOADS, REDACTED, REDACTIONS, REWIND_BEFORE_EVENT, is_state_redacted,
    redacted_at,
};
pub use open_questions::{ABORTED, check_stored_answer, ends_aborted, open_questions};
pub use prompt_size::estimated_tokens;
pub use redact::{Redaction, check_redacted, is_left_of, redacted_document};
pub use redaction_error::{RedactionError, RedactionFault};
pub use request::{CreateSession, GetSessionConfig, ListCursor, ListSessions, ListSessionsResponse};
pub use service::{SessionService, walk_questions};
pub use since::Since;
pub use stored_json::read_stored;
pub use summaries::Summaries;
pub use summarizer::{EventsSummarizer, Summary, summary_event};
pub use visible::{is_internal_content, is_visible_part};

/// The key in a partial event's custom metadata that tells why a model is not answering: `{"model": NAME, "code": CODE,
/// "status": HTTP status or null, "seconds": wait, "attempt": how many attempts were made}`.
///
/// Only followers of the run receive such an event. It is not stored, and the reader of the run does not get it.
pub const MODEL_WAIT: &str = "_pleach_model_wait";
