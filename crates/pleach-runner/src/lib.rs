//! Drives invocations: loads the session, stores the user's message, runs the root node, stores and hands out its
//! events.
//!
//! This crate owns the order of things in one invocation ([`Runner`], [`Run`]): persist, then yield, then let the node
//! go on. It runs no node itself (that is `pleach-workflow`) and stores nothing itself (that is a session service).

mod abort_events;
mod active;
mod answer;
mod answer_checks;
mod app;
mod begin;
mod builder;
mod closing;
mod compaction;
mod detached;
mod drain;
mod driver;
mod enter;
mod error;
mod follow;
mod follow_options;
mod fork;
mod inbox;
mod invocation;
mod join;
mod message;
mod open;
mod outcome;
mod parts;
mod plugin_change;
mod question_ref;
mod recorded;
mod registry;
mod repeat_filter;
mod request;
mod rewind;
mod root_driver;
mod run;
mod run_event;
mod runner;
mod seat;
mod store;
mod trace;

pub use app::App;
pub use builder::RunnerBuilder;
pub use compaction::{EventsCompactionConfig, EventsSummarizer, Summary, summary_event};
pub use detached::Detached;
pub use drain::{DrainOptions, Drained, DrainedRun, Overdue};
pub use error::RunError;
pub use follow::{Follow, FollowStatus};
pub use follow_options::FollowOptions;
pub use message::Message;
pub use outcome::RunEnd;
pub use question_ref::{AnswerOptions, QuestionRef};
pub use request::{RunRequest, SessionRef};
pub use run::Run;
pub use run_event::RunEvent;
pub use runner::Runner;
