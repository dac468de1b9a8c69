//! Sessions in a Postgres database, in the layout that google-adk's `DatabaseSessionService` reads and writes.
//!
//! An append is one statement, so one transaction and one round trip: it compares the revision, merges the three
//! states and stores the event. Any number of processes, including google-adk itself, may use the same database at
//! the same time.
//!
//! The layout changes some values. States and events are `jsonb`, which keeps neither the order of keys nor the
//! spelling of numbers (`1e300` is stored as an integer of 301 digits, `1.0` stays `1.0`). Times are whole
//! microseconds of the years 1 to 9999.
//!
//! Connections are encrypted with rustls according to the URL's `sslmode`. A server without TLS that requests the
//! password in clear text does not get it.
//!
//! The open questions of all sessions are read through the inbox, in these private modules:
//!
//! - `inbox` updates the projection, which is stored in tables, and reads open questions from it. It also makes the
//!   tables and waits for the index.
//! - `inbox_index` builds an index on `events` without blocking writes.
//! - `inbox_sql` has the SQL texts, including the definitions of the indexes.
//! - `inbox_state` is the state that a service keeps for its inbox, such as the builds that run.
//! - `inbox_store` stores the open questions of sessions in the projection.
//! - `inbox_fault` classifies failed statements on the projection.

mod address;
mod append;
mod claim;
mod connect_retry;
mod connections;
mod create;
mod deadlines;
mod fault;
mod in_flight;
mod inbox;
mod inbox_fault;
mod inbox_index;
mod inbox_sql;
mod inbox_state;
mod inbox_store;
mod lent;
mod limits;
mod list;
mod load;
mod options;
mod pooling;
mod refusal;
mod schema;
mod secure;
mod service;
mod settings;
mod settled;
mod sql;
mod value;

pub use options::PostgresOptions;
pub use service::PostgresSessionService;
