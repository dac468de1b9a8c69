//! The resources of a server.

use pleach_context::ReadonlyContext;
use pleach_core::{Map, Part};
use rmcp::model::{
    ClientRequest, ListResourceTemplatesRequest, ListResourcesRequest, ReadResourceRequest, ReadResourceRequestParams,
};
use serde_json::Value;

use crate::connection::Reading;
use crate::error::McpError;
use crate::members::{needed_text, text};
use crate::{McpToolset, content};

/// A resource that clients of a server can read, for example a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpResource {
    /// The URI to read the resource with.
    pub uri: String,
    /// The name.
    pub name: String,
    /// The name for people.
    pub title: Option<String>,
    /// The description of the resource.
    pub description: Option<String>,
    /// The IANA media type.
    pub mime_type: Option<String>,
    /// The size in bytes.
    pub size: Option<u64>,
}

/// A template for the URIs of resources, with variables to fill in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpResourceTemplate {
    /// The URI template (RFC 6570), for example `file:///{path}`.
    pub uri_template: String,
    /// The name.
    pub name: String,
    /// The name for people.
    pub title: Option<String>,
    /// The description of the resources.
    pub description: Option<String>,
    /// The IANA media type that all the resources have.
    pub mime_type: Option<String>,
}

/// The contents of a resource. A URI may name several resources.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct McpResourceContents {
    /// The URI of the resource.
    pub uri: String,
    /// The IANA media type.
    pub mime_type: Option<String>,
    /// The contents: text, or bytes as media.
    pub part: Part,
}

impl McpToolset {
    /// Returns the resources of the server; the list is empty if it has none. `ctx` is passed to the function that
    /// returns the headers of the session.
    ///
    /// # Errors
    /// The server did not answer.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request.
    pub async fn list_resources(&self, ctx: Option<&ReadonlyContext>) -> Result<Vec<McpResource>, McpError> {
        let session = self.session(ctx).await?;
        if !session.has(|capabilities| &capabilities.resources) {
            return Ok(Vec::new());
        }
        let request = |params| ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params));
        let reading = Reading { what: "list its resources", key: "resources", entry: McpResource::read };
        session.list(request, &reading).await
    }

    /// Returns the resource templates of the server; the list is empty if it has none.
    ///
    /// # Errors
    /// The server did not answer.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request.
    pub async fn list_resource_templates(
        &self,
        ctx: Option<&ReadonlyContext>,
    ) -> Result<Vec<McpResourceTemplate>, McpError> {
        let session = self.session(ctx).await?;
        if !session.has(|capabilities| &capabilities.resources) {
            return Ok(Vec::new());
        }
        let request =
            |params| ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest::with_param(params));
        let (what, key) = ("list its resource templates", "resourceTemplates");
        session.list(request, &Reading { what, key, entry: McpResourceTemplate::read }).await
    }

    /// Reads a resource. ADK: `McpToolset.read_resource`, which takes a name
    ///
    /// # Errors
    /// The server has no resource with this URI, or did not answer.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request.
    pub async fn read_resource(
        &self,
        uri: &str,
        ctx: Option<&ReadonlyContext>,
    ) -> Result<Vec<McpResourceContents>, McpError> {
        let session = self.session(ctx).await?;
        let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri));
        let mut answer = session.ask("give the resource", ClientRequest::ReadResourceRequest(request)).await?;
        let contents = match answer.get_mut("contents").map(Value::take) {
            Some(Value::Array(contents)) => contents,
            Some(one @ Value::Object(_)) => vec![one],
            _ => return Err(self.fault("answered with something that is not a resource")),
        };
        let mut fault = None;
        let read: Vec<McpResourceContents> = contents
            .iter()
            .filter_map(|contents| McpResourceContents::read(contents, uri).map_err(|reason| fault = Some(reason)).ok())
            .collect();
        match fault {
            Some(reason) if read.is_empty() => Err(self.fault(reason)),
            Some(reason) => {
                tracing::warn!(
                    server = self.server_name(),
                    reason,
                    "contents of a resource of the MCP server are left out"
                );
                Ok(read)
            }
            None => Ok(read),
        }
    }
}

impl McpResource {
    fn read(resource: &Map) -> Result<Self, &'static str> {
        let uri = needed_text(resource, "uri", "its URI is not a string")?;
        Ok(Self {
            name: text(resource, "name").unwrap_or_else(|| uri.clone()),
            uri,
            title: text(resource, "title"),
            description: text(resource, "description"),
            mime_type: text(resource, "mimeType"),
            size: resource.get("size").and_then(Value::as_u64),
        })
    }
}

impl McpResourceTemplate {
    fn read(template: &Map) -> Result<Self, &'static str> {
        let uri_template = needed_text(template, "uriTemplate", "its URI template is not a string")?;
        Ok(Self {
            name: text(template, "name").unwrap_or_else(|| uri_template.clone()),
            uri_template,
            title: text(template, "title"),
            description: text(template, "description"),
            mime_type: text(template, "mimeType"),
        })
    }
}

impl McpResourceContents {
    fn read(contents: &Value, asked_for: &str) -> Result<Self, &'static str> {
        let Value::Object(fields) = contents else { return Err("has a resource that is neither text nor bytes") };
        Ok(Self {
            uri: text(fields, "uri").unwrap_or_else(|| asked_for.to_owned()),
            mime_type: text(fields, "mimeType"),
            part: content::resource_part(contents)?,
        })
    }
}
