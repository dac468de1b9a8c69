//! Summing up a long history after an invocation: rule R1150.
//!
//! `config` says when, `window` and `tokens` say which events, `prefix` keeps calls together with their answers, `prompt`
//! measures what a summary would save, and `after_run` does it.

mod after_run;
mod config;
mod prefix;
mod prompt;
mod tokens;
mod window;

pub use config::{EventsCompactionConfig, EventsSummarizer, Summary, summary_event};
