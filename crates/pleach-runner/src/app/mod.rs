//! A Runner from its declaration to its close.
//!
//! `inner.rs` holds what the clones of a Runner share. `builder.rs` checks the declaration once.

pub(crate) mod agent_names;
pub(crate) mod builder;
pub(crate) mod call_limit;
pub(crate) mod close;
pub(crate) mod definition;
pub(crate) mod drain;
pub(crate) mod inner;
pub(crate) mod load;
