//! Tools for agents from OpenAPI 3.0 and 3.1 documents.
//!
//! [`OpenApiToolset`] is a toolset: each operation of a document becomes a [`RestApiTool`]. This crate owns how a document is read
//! and checked, what a model sees of an operation, how arguments become an HTTP request, which credentials go with it, and how every answer becomes
//! a result that the model sees. It does not validate responses, and follows no references to other documents.

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
