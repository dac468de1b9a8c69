//! Tools for agents from OpenAPI 3.0 and 3.1 documents.
//!
//! [`OpenApiToolset`] is a toolset: each operation of a document becomes a [`RestApiTool`]. This crate reads and checks
//! documents, and declares their operations for models. It makes HTTP requests from arguments, finds the credentials
//! for them, and turns every answer into a result for the model. It does not validate responses, and follows no
//! references to other documents.

mod auth;
mod builder;
mod built;
mod call;
mod document;
mod fault;
mod http;
mod names;
mod operation;
mod setup_error;
mod tool;
mod toolset;

pub use builder::OpenApiToolsetBuilder;
pub use document::OpenApiDocument;
pub use fault::{OpenApiFault, OpenApiFaultKind};
pub use operation::OpenApiOperation;
pub use setup_error::OpenApiSetupError;
pub use tool::RestApiTool;
pub use toolset::OpenApiToolset;
