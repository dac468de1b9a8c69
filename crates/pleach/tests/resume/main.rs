//! A run that is cut off anywhere and resumed equals the run that was not cut off: checked on random workflows, in memory, in SQLite and
//! in Postgres.
//!
//! `flow` defines a workflow as plain data, `graph` and `bodies` make the workflow, `play` runs it to its end turn by turn, `check`
//! defines the property, `property` draws the cases, and `public` checks the testkit's property on the same cases. `tree`, `cast` and
//! `model` are the counterparts of `flow`, `graph` and `bodies` for agents.

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
