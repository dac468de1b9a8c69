//! OpenAPI: the operations of documents as tools of agents.
//!
//! `docs/openapi.md` describes what models see of operations, and how pleach handles documents, requests, credentials and responses.

pub use pleach_openapi::{
    OpenApiDocument, OpenApiFault, OpenApiFaultKind, OpenApiOperation, OpenApiSetupError, OpenApiToolset,
    OpenApiToolsetBuilder, RestApiTool,
};
