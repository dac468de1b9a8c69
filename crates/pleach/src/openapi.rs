//! OpenAPI: the operations of documents as tools of agents.
//!
//! `docs/openapi.md` describes what models see of operations, and how documents, requests, credentials and answers are treated.

pub use pleach_openapi::{
    OpenApiDocument, OpenApiFault, OpenApiFaultKind, OpenApiOperation, OpenApiSetupError, OpenApiToolset,
    OpenApiToolsetBuilder, RestApiTool,
};
