//! OpenAPI: tools of agents, made from the operations of OpenAPI documents.
//!
//! `docs/openapi.md` describes what models see of operations, and how pleach handles documents, requests, credentials
//! and responses.

pub use pleach_openapi::{
    OpenApiDocument, OpenApiFault, OpenApiFaultKind, OpenApiOperation, OpenApiSetupError, OpenApiToolset,
    OpenApiToolsetBuilder, RestApiTool,
};
