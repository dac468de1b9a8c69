//! Declared shapes of node inputs, outputs and state.

mod model;

pub use model::{Field, Schema};
