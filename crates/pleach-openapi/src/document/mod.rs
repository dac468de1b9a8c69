//! Reads documents, their references and their operations.

mod body;
mod header_names;
mod media;
mod operations;
mod parameters;
mod refs;
mod schema;
mod schema_anchors;
mod schema_node;
mod schema_targets;
mod security;
mod servers;
mod source;
mod value;

pub(crate) use body::{Body, BodyArgs, BodyField, BodyKind, Encoding};
pub(crate) use header_names::is_of_connection;
pub(crate) use media::{essence, is_json};
pub(crate) use operations::{Plan, Reading, Sketch, sketches};
pub(crate) use parameters::{Coding, Param, Place, Style};
pub(crate) use refs::Document;
pub(crate) use security::{Alternative, KeyPlace, Requirement, Scheme, SchemeKind};
pub(crate) use servers::{Base, ServerOptions};
pub use source::OpenApiDocument;
