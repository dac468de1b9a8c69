//! Summarises long histories, after an invocation and before a prompt.
//!
//! `config` holds the triggers, `window` and `tokens` select the events, `prefix` keeps calls together with their
//! answers, `prompt` estimates what a summary saves, and `summarize` asks the summarizer for it. `after_run` and
//! `before_prompt` are the two times when histories are summarised.
// R1150

mod after_run;
mod before_prompt;
mod config;
mod prefix;
mod prompt;
mod summarize;
mod tokens;
mod window;

pub use config::EventsCompactionConfig;
