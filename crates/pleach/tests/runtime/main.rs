//! The runtime through its public API: graphs, failures, questions, resume, plugins.
//!
//! Scenarios recorded from google-adk cover the common paths (`cargo xtask conformance`); here are the cases that they cannot
//! say: Rust's own API, cancellation, parking, panics, and where pleach is deliberately better.

#![expect(clippy::unwrap_used, reason = "a test that panics says what is wrong")]

mod abort;
mod actions;
mod agent_answers;
mod agent_calls;
mod agent_code;
mod agent_edge_cases;
mod agent_lanes;
mod agent_outputs;
mod agent_requests;
mod agent_settings;
mod agent_tools;
mod agents;
mod answer_types;
mod backends;
mod changed;
mod compaction;
mod confirmations;
mod context_accessors;
mod credentials;
mod dead_ends;
mod detached;
mod drain;
mod edge_cases;
mod facade;
mod failures;
mod fence;
mod follow;
mod foreign_texts;
mod fork;
mod gated;
mod graph;
mod graph_transfers;
mod inbox;
mod join;
mod lifecycle;
mod limits;
#[cfg(feature = "sqlite")]
mod memory;
mod model_streams;
mod model_waits;
mod node_hooks;
mod observers;
mod pictures;
mod plugins;
mod plugins_budget;
mod plugins_budget_stored;
mod plugins_files;
mod plugins_logging;
mod plugins_prompts;
mod plugins_retries;
mod prompt_compaction;
mod questions;
mod recorded_ways;
mod redact;
mod repeated_answers;
mod replay;
mod reserved;
mod rewind;
mod script;
mod second_answers;
mod select;
mod settled;
mod signals;
mod signals_live;
mod stalled;
mod state_rules;
mod state_writes;
mod status;
mod steps;
mod support;
mod time;
mod tool_gates;
mod tools;
mod typed;
mod typed_tools;
mod user_name;
mod words;
mod workers;
mod world;
