//! Builds, drains and closes a Runner.
//!
//! `builder.rs` checks the configuration once. `inner.rs` has the parts that the clones of a Runner share.

pub(crate) mod agent_names;
pub(crate) mod builder;
pub(crate) mod call_limit;
pub(crate) mod close;
pub(crate) mod definition;
pub(crate) mod drain;
pub(crate) mod inner;
pub(crate) mod load;
