//! Drives invocations: loads the session, stores the user's message, runs the root node, stores and yields its events.
//!
//! This crate owns the order of steps in one invocation ([`Runner`], [`Run`]): store an event, yield it, then let its node
//! continue. Nodes are run by `pleach-workflow`, and events are stored by a session service.

mod abort_events;
mod active;
mod agent_names;
mod agent_to_run;
mod answer;
mod answer_checks;
mod answer_event;
mod app;
mod asked_calls;
mod begin;
mod builder;
mod call_limit;
mod closing;
mod compaction;
mod deadlines;
mod detached;
mod drain;
mod driver;
mod enter;
mod error;
mod firing;
mod follow;
mod follow_options;
mod fork;
mod inbox;
mod invocation;
mod join;
mod message;
mod open;
mod open_task;
mod outcome;
mod parts;
mod progress;
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
mod timers;
mod trace;

pub use answer_event::answer_event;
pub use app::App;
pub use builder::RunnerBuilder;
pub use compaction::EventsCompactionConfig;
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
