//! The document: how it is read, what it refers to, and the operations in it.

mod body;
mod operations;
mod parameters;
mod refs;
mod schema;
mod schema_node;
mod security;
mod servers;
mod source;
mod value;

pub(crate) use body::{Body, BodyArgs, BodyField, BodyKind, Encoding, essence, is_json};
pub(crate) use operations::{Plan, Reading, Sketch, sketches};
pub(crate) use parameters::{Coding, Param, Place, Style, is_of_connection};
pub(crate) use refs::Document;
pub(crate) use security::{Alternative, KeyPlace, Scheme, SchemeKind};
pub(crate) use servers::{Base, ServerOptions};
pub use source::OpenApiDocument;
