//! Drives invocations: loads the session, stores the user's message, runs the root node, stores and yields its events.
//!
//! This crate owns the order of steps in one invocation ([`Runner`], [`Run`]): store an event, yield it, then let its
//! node continue. Nodes are run by `pleach-workflow`, and events are stored by a session service. The crate also has
//! followers, deadlines, signals, compaction, and the status of sessions.

mod answers;
mod app;
mod compaction;
mod deadlines;
mod opening;
mod request;
mod run;
mod runner;
mod sessions;
mod signals;

pub use answers::answer_event::answer_event;
pub use answers::may_answer::{GivenAnswer, MayAnswer};
pub use app::builder::RunnerBuilder;
pub use app::definition::App;
pub use app::drain::{DrainOptions, Drained, DrainedRun, Overdue};
pub use app::load::RunnerLoad;
pub use compaction::EventsCompactionConfig;
pub use deadlines::due::DueDeadlines;
pub use request::error::RunError;
pub use request::message::Message;
pub use request::question_ref::{AnswerOptions, QuestionRef};
pub use request::retry::Retry;
pub use request::run_request::{RunRequest, SessionRef};
pub use run::detached::Detached;
pub use run::follow::{Follow, FollowStatus};
pub use run::follow_options::FollowOptions;
pub use run::outcome::RunEnd;
pub use run::run_event::RunEvent;
pub use run::stream::Run;
pub use runner::Runner;
pub use sessions::status::{RunProgress, SessionStatus};
pub use sessions::unfinished::{ListUnfinished, ListUnfinishedResponse};
pub use signals::outgoing::SignalOptions;
pub use signals::send::SignalOutcome;

/// Items for sibling crates. Nothing here is covered by the promise of compatibility.
#[doc(hidden)]
pub mod internal {
    pub use crate::signals::turns::{Turn, Turns};
}
