//! Checks on random workflows that a run that is cut off anywhere and resumed equals a run that was not cut off. The
//! sessions are in memory, in SQLite and in Postgres.
//!
//! `flow` defines a workflow as plain data. `graph` and `bodies` make the workflow, and `play` runs it to its end, turn
//! by turn. `check` defines the property, and `property` draws the cases. `public` checks the testkit's property on the
//! same cases. For agents, `tree`, `cast` and `model` replace `flow`, `graph` and `bodies`.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

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
