//! The resources of a server.

use pleach_context::ReadonlyContext;
use pleach_core::Part;
use rmcp::model::{
    ClientRequest, ListResourceTemplatesRequest, ListResourcesRequest, ReadResourceRequest, ReadResourceRequestParams,
    ResourceContents, ServerResult,
};

use crate::error::McpError;
use crate::{McpToolset, content};

/// Something that a server lets its clients read, for example a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpResource {
    /// By which it is read.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// The IANA media type.
    pub mime_type: Option<String>,
    /// The size in bytes.
    pub size: Option<u64>,
}

/// URIs of resources that a server has, with variables to fill in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpResourceTemplate {
    /// A template of RFC 6570, for example `file:///{path}`.
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What the resources are.
    pub description: Option<String>,
    /// The IANA media type of all of them.
    pub mime_type: Option<String>,
}

/// The contents of a resource, or of one of several that a URI names.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct McpResourceContents {
    /// Of what.
    pub uri: String,
    /// The IANA media type.
    pub mime_type: Option<String>,
    /// Text, or bytes as media.
    pub part: Part,
}

impl McpToolset {
    /// Returns the resources of the server; none if it has none. `ctx` is what the headers of a session are made from.
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
        let listed = session.list("list its resources", request, |answer| match answer {
            ServerResult::ListResourcesResult(page) => Some((page.resources, page.next_cursor)),
            _ => None,
        });
        let resources = listed.await?.into_iter().map(|resource| McpResource {
            uri: resource.uri,
            name: resource.name,
            title: resource.title,
            description: resource.description,
            mime_type: resource.mime_type,
            size: resource.size,
        });
        Ok(resources.collect())
    }

    /// Returns the templates of URIs that the server has; none if it has none.
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
        let listed = session.list("list its templates of resources", request, |answer| match answer {
            ServerResult::ListResourceTemplatesResult(page) => Some((page.resource_templates, page.next_cursor)),
            _ => None,
        });
        let templates = listed.await?.into_iter().map(|template| McpResourceTemplate {
            uri_template: template.uri_template,
            name: template.name,
            title: template.title,
            description: template.description,
            mime_type: template.mime_type,
        });
        Ok(templates.collect())
    }

    /// Reads a resource. ADK: `McpToolset.read_resource`, which takes a name
    ///
    /// # Errors
    /// The server has none of this URI, or did not answer.
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
        let answer = session.ask("give the resource", ClientRequest::ReadResourceRequest(request)).await?;
        let ServerResult::ReadResourceResult(result) = answer else {
            return Err(self.fault("answered with something that is no resource"));
        };
        let contents = result.contents.into_iter().map(|contents| self.read(contents));
        contents.collect()
    }

    fn read(&self, contents: ResourceContents) -> Result<McpResourceContents, McpError> {
        let (uri, mime_type) = match &contents {
            ResourceContents::TextResourceContents { uri, mime_type, .. }
            | ResourceContents::BlobResourceContents { uri, mime_type, .. } => (uri.clone(), mime_type.clone()),
            _ => return Err(self.fault("has a resource that is neither text nor bytes")),
        };
        let part = content::resource_part(contents);
        let part = part.ok_or_else(|| self.fault("has a resource whose bytes are no base64 text"))?;
        Ok(McpResourceContents { uri, mime_type, part })
    }
}
