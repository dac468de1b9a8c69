//! A run that is cut off anywhere and resumed equals the run that was not: random workflows, in memory, in SQLite and in Postgres.
//!
//! `flow` says in plain data what a workflow is, `graph` and `bodies` make one of it, `play` runs it to its end turn by
//! turn, `check` states the property, `property` draws the cases, `public` checks the property that users get on them. `tree`, `cast` and `model` do for agents what `flow`, `graph` and
//! `bodies` do for nodes.

#![expect(clippy::unwrap_used, reason = "a test that panics says what is wrong")]

mod bodies;
mod cases;
mod cast;
mod check;
mod flow;
mod graph;
mod host;
mod model;
mod play;
mod property;
mod public;
mod record;
mod steps;
mod tree;
mod world;
