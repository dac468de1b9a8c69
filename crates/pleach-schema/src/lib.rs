//! Schemas and lenient conversion of JSON: everything that decides whether data fits a declared shape.
//!
//! The crate has four parts, and each can be used alone:
//! - [`Schema`] is the declared shape of a node's input, its output, or the session state.
//! - [`coerce`] and its siblings read JSON into Rust types as leniently as ADK does.
//! - [`validate_answer`] checks an answer against the JSON Schema of its question before it is stored, and
//!   [`AnswerType`] checks it against the Rust type that reads it.
//! - [`check_answer`] reads answers that are already stored.
//!
//! This crate consists of plain functions over data. It is independent of sessions and nodes, and resolves no
//! reference that leads outside the schema.

mod answer;
mod answer_error;
mod answer_type;
mod coerce;
mod compiled;
mod declared;
mod exact;
mod example;
mod field_type;
mod measure;
mod relax;
mod said;
mod scalar;
mod validate;

pub use answer::{check_answer, unwrap_response};
pub use answer_error::AnswerError;
pub use answer_type::{AnswerType, read_answer};
pub use coerce::{BadArgument, CoerceError, coerce, coerce_arguments, coerce_content};
pub use declared::{Field, Schema, SchemaError};
pub use exact::{exact_json, has_big_integer, has_big_number};
pub use example::example_of;
pub use field_type::{FieldType, kind_of};
pub use pleach_core::to_bool;
pub use said::json_in_text;
pub use scalar::{json_or_text, to_float, to_int};
pub use validate::{validate_answer, why_not_enforced};
