//! Summarises long histories after an invocation.
//!
//! `config` holds the triggers, `window` and `tokens` select the events, `prefix` keeps calls together with their answers,
//! `prompt` estimates what a summary saves, and `after_run` makes and stores it.
// R1150

mod after_run;
mod config;
mod prefix;
mod prompt;
mod tokens;
mod window;

pub use config::{EventsCompactionConfig, EventsSummarizer, Summary, summary_event};
