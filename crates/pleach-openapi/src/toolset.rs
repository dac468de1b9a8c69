//! [`OpenApiToolset`]: a toolset of the operations of a document.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use pleach_context::{NodeError, ReadonlyContext, Tool, Toolset};
use pleach_core::BoxFuture;

use crate::{OpenApiFault, RestApiTool};

/// A toolset for agents whose tools are the operations of an OpenAPI document. It is cheap to clone; clones share
/// everything.
///
/// - The document is read and checked once, when the toolset is built. Nothing is loaded from elsewhere.
/// - An argument is only sent where the document puts it. It cannot change the server, the path, the name of a header
///   or another argument.
/// - An operation with security gets the configured credential or, without one, the credential that a client is asked
///   for. No result, error or log shows it, and redirects are not followed.
/// - A failing server does not fail the run: the model gets an error as the result of the call.
///
/// Debug output shows the names of the toolset and its tools. ADK: `OpenAPIToolset`
///
/// ```
/// use pleach_openapi::OpenApiToolset;
///
/// # fn main() -> Result<(), pleach_openapi::OpenApiSetupError> {
/// let document = "
/// openapi: 3.1.0
/// info: {title: Pets, version: '1'}
/// servers: [{url: 'https://pets.example.com/v1'}]
/// paths:
///   /pets/{id}:
///     get:
///       operationId: showPet
///       summary: Shows a pet.
///       parameters: [{name: id, in: path, required: true, schema: {type: string}}]
///       responses: {'200': {description: The pet.}}
/// ";
/// let pets = OpenApiToolset::builder(document).build()?;
/// assert_eq!(pets.list_tools()[0].operation().to_string(), "GET /pets/{id}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenApiToolset {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    tools: Vec<RestApiTool>,
    left_out: Vec<OpenApiFault>,
}

impl OpenApiToolset {
    pub(crate) fn new(name: String, tools: Vec<RestApiTool>, left_out: Vec<OpenApiFault>) -> Self {
        Self { inner: Arc::new(Inner { name, tools, left_out }) }
    }

    /// Returns the tools, in the order of their names.
    #[must_use]
    pub fn list_tools(&self) -> &[RestApiTool] {
        &self.inner.tools
    }

    /// Returns the tool of this name. ADK: `get_tool`
    #[must_use]
    #[doc(alias = "get_tool")]
    pub fn tool(&self, name: &str) -> Option<&RestApiTool> {
        self.inner.tools.iter().find(|tool| tool.name() == name)
    }

    /// Returns the faults of the operations that were left out by
    /// [`leave_out_faulty`](crate::OpenApiToolsetBuilder::leave_out_faulty).
    #[must_use]
    pub fn left_out(&self) -> &[OpenApiFault] {
        &self.inner.left_out
    }
}

impl Toolset for OpenApiToolset {
    fn name(&self) -> &str {
        &self.inner.name
    }

    fn tools<'a>(&'a self, _: &'a ReadonlyContext) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, NodeError>> {
        let tools = self.inner.tools.iter().map(|tool| Arc::new(tool.clone()) as Arc<dyn Tool>).collect();
        Box::pin(ready(Ok(tools)))
    }
}

impl fmt::Debug for OpenApiToolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<&str> = self.inner.tools.iter().map(|tool| tool.name()).collect();
        f.debug_struct("OpenApiToolset").field("name", &self.inner.name).field("tools", &tools).finish_non_exhaustive()
    }
}
