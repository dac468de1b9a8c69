//! [`Context`]: one per node run, the API of node code.
//!
//! Contexts form a tree that mirrors the runs: children point at parents, never back, and all share one
//! [`InvocationContext`](crate::InvocationContext). Each file holds what a node's author calls for one purpose. What engines
//! call is in [`engine`](crate::engine).

mod actions;
mod artifacts;
mod ask;
mod background;
mod blocking;
mod checks;
mod children;
mod credentials;
mod emit;
mod idempotency;
mod identity;
mod memory;
mod output;
mod readonly;
mod select;
mod session_view;
mod state;
mod step;
mod time;
mod tool_call;

use std::fmt;

pub use ask::json_schema_of;
pub use select::Select;
pub use session_view::SessionView;
pub use state::{Key, State, StateNumber};
pub(crate) use state::{check_open, delta_of, unreadable};
pub use step::Step;

use crate::Context;

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("path", &self.inner.path)
            .field("attempt", &self.inner.attempt)
            .finish_non_exhaustive()
    }
}
