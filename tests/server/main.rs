//! Tests of the HTTP API over the loopback interface: recorded exchanges, rules, security, streams.
#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod callers;
mod client;
mod conversation;
mod description;
mod dev_apps;
mod dev_guard;
mod dev_traces;
mod dev_ui;
mod gate;
mod golden;
mod inspect;
mod inspect_bounds;
mod limits;
mod link;
mod load;
mod logs;
mod reads;
mod reserved;
mod rules;
mod security;
mod served;
mod sleeps;
mod streams;
mod turns;
mod who_answers;
mod whole_sessions;

#[path = "../../examples/server/demo.rs"]
mod demo;
#[path = "../../examples/server/python.rs"]
mod python;
#[path = "../../examples/server/scripted.rs"]
mod scripted;
#[path = "../../examples/server/wf.rs"]
mod wf;
