//! Checks of what people answer: the JSON Schema that a question stored, and the lenient conversions of ADK.
//!
//! This crate owns plain functions over JSON. It does not know sessions, events or nodes, and resolves no reference
//! outside of the schema it is given.

mod answer;
mod field_type;
mod measure;
mod misfit;
mod relax;
mod scalar;
mod validate;

pub use answer::{check_answer, unwrap_response};
pub use field_type::{FieldType, kind_of};
pub use misfit::Misfit;
pub use scalar::{json_or_text, to_bool, to_float, to_int};
pub use validate::{validate_answer, why_not_enforced};
