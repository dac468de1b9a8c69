//! The inbox of an app: the open questions of its sessions, found without reading every history.
//!
//! [`open_questions`](crate::open_questions) decides which questions of one session are open. This module has the
//! request and its response, and the code that backends share to keep a *projection*. A projection is a stored copy
//! of the open questions, with the number of events from which it was made.

mod deadlines;
mod gather;
mod keep;
mod project;
mod request;

pub use deadlines::{LogPlace, NewDeadlines};
pub use gather::{Gathering, Open, Projected};
pub use keep::{
    Behind, PAGE, Projection, ProjectionError, ProjectionResult, QuestionRow, list_projected, refresh_projection,
};
pub use project::{Asked, PROJECTION, asked_questions, concerns_questions, is_rewind};
pub use request::{InboxItem, ListQuestions, ListQuestionsResponse, QuestionCursor};
