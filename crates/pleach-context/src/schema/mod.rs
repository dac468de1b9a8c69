//! Declared shapes of node inputs, outputs and state.

mod answer;
mod field;
mod model;

pub use answer::{check_answer, unwrap_response};
pub use field::FieldType;
pub use model::{Field, Schema};
