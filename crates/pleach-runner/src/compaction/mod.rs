//! Summing up a long history after an invocation.
//!
//! `config` says when, `window` and `tokens` say which events, `prefix` keeps calls together with their answers, `prompt`
//! measures what a summary would save, and `after_run` does it.
// R1150

mod after_run;
mod config;
mod prefix;
mod prompt;
mod tokens;
mod window;

pub use config::{EventsCompactionConfig, EventsSummarizer, Summary, summary_event};
