//! The interpreter of the conformance scenarios. It uses pleach's public API.
//!
//! A scenario describes nodes whose bodies are small programs, and the turns of a user. This module builds the nodes,
//! plays the turns, and records the events, the errors and the stored sessions. It does not judge them:
//! [`crate::normalise`] compares them with the recorded traces.

mod agent;
mod backend;
mod body;
mod callbacks;
mod calls;
mod described;
mod env;
mod event;
mod expr;
mod function;
mod graph;
mod hooks;
mod model;
mod nodes;
mod ordered;
mod play;
mod response;
mod run;
mod shell;
mod step;
mod tool;
mod turn;
mod value;
mod vars;
mod world;

pub use ordered::read;
pub use play::{Played, Stored, play};
