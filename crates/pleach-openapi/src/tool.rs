//! [`RestApiTool`]: an operation as a tool.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use pleach_context::engine::RunHandle;
use pleach_context::{NodeError, ReadonlyContext, Tool, ToolContext, ToolResult};
use pleach_core::{BoxFuture, FunctionDeclaration, Map};
use pleach_http::{Headers, Secrets};
use serde_json::{Value, json};

use crate::OpenApiOperation;
use crate::auth::{Access, Authorized, Authorizer, Tokens};
use crate::call::prepare;
use crate::document::Plan;
use crate::http::{Client, HeaderProvider, clean_text, error, result, set_header};

/// An operation of a document as a tool. [`OpenApiToolset`](crate::OpenApiToolset) creates it.
///
/// The result of a call is the answer of the server: JSON unchanged, a text as `{"text": …}`, and images, sounds,
/// videos and PDF files as media. An answer whose status is not a success becomes
/// `{"error": …, "status": …, "body": …}`, and a call without an answer `{"error": …}`. ADK: `RestApiTool`
#[derive(Clone)]
pub struct RestApiTool {
    inner: Arc<Inner>,
}

struct Inner {
    plan: Plan,
    declaration: Arc<FunctionDeclaration>,
    shared: Arc<Shared>,
}

/// The parts that all tools of a toolset share.
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) client: Client,
    pub(crate) access: Access,
    pub(crate) tokens: Tokens,
    pub(crate) headers: Headers,
    pub(crate) header_provider: Option<HeaderProvider>,
    pub(crate) confirm: Option<Condition>,
}

/// Decides whether a person must approve a call.
pub(crate) type Condition = Arc<dyn Fn(&OpenApiOperation, &Map, &ToolContext) -> bool + Send + Sync>;

impl RestApiTool {
    pub(crate) fn new(name: String, mut plan: Plan, shared: Arc<Shared>) -> Self {
        let schema = std::mem::take(&mut plan.schema);
        let declaration = FunctionDeclaration::new(name, plan.view.text()).with_parameters(schema);
        Self { inner: Arc::new(Inner { plan, declaration: Arc::new(declaration), shared }) }
    }

    /// Returns the operation as the document describes it.
    #[must_use]
    pub fn operation(&self) -> &OpenApiOperation {
        &self.inner.plan.view
    }

    /// Returns the URL of the server, without the path of the operation.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.inner.plan.base.prefix()
    }

    async fn call(&self, args: &Map, ctx: &ToolContext) -> Result<ToolResult, NodeError> {
        let Inner { plan, shared, .. } = &*self.inner;
        let run = RunHandle::of(ctx.clone());
        let ids = &run.invocation().services().ids;
        let schema = self.inner.declaration.parameters_json_schema.as_ref().unwrap_or(&Value::Null);
        let mut request = match prepare(plan, schema, args, || format!("pleach-{}", ids.uuid().simple())) {
            Ok(request) => request,
            Err(fault) => return Ok(error(&fault.to_string())),
        };
        let Shared { access, tokens, client, .. } = &**shared;
        let authorizer = Authorizer { plan, access, tokens, client, ctx };
        let granted = match authorizer.authorize().await? {
            Authorized::With(granted) => granted,
            // google-adk returns this result for a call that waits for a credential. The runtime ignores it.
            Authorized::Pending => {
                return Ok(json!({"pending": true, "message": "Needs your authorization to access your data."}).into());
            }
            Authorized::Failed(reason) => return Ok(error(&reason)),
        };
        let mut secrets = Secrets::default();
        if let Err(reason) = self.add_headers(&mut request.headers, ctx, &mut secrets).await {
            return Ok(error(&format!("the headers of the request cannot be made: {}", clean_text(&secrets, &reason))));
        }
        for granted in &granted {
            if let Err(header) = granted.grant.write(&mut request, &mut secrets) {
                return Ok(error(&format!(
                    "the header `{header}` would be sent by a credential and by the program: the program must leave it out, or send it alone with `.ignore_security()`"
                )));
            }
        }
        let Some(request) = request.finish(plan) else {
            return Ok(error("the arguments make no URL of the operation"));
        };
        match client.send(request, plan.base.endpoint(), ctx.invocation().clock()).await {
            Ok(answer) => {
                tracing::debug!(
                    toolset = shared.name,
                    tool = self.name(),
                    status = answer.status.as_u16(),
                    "an API has answered"
                );
                // The call has taken effect, so its answer must reach the model even if the credential cannot be kept.
                if let Err(error) = authorizer.settle(&granted, answer.status).await {
                    let reason = clean_text(&secrets, &error.to_string());
                    tracing::warn!(toolset = shared.name, tool = self.name(), reason, "a credential cannot be kept");
                }
                Ok(result(&plan.view.to_string(), answer, &secrets))
            }
            Err(fault) => {
                tracing::warn!(
                    toolset = shared.name,
                    tool = self.name(),
                    kind = fault.kind(),
                    "a call of an API failed"
                );
                Ok(error(&clean_text(&secrets, &fault.to_string())))
            }
        }
    }

    /// Adds the headers of the program.
    async fn add_headers(
        &self,
        headers: &mut http::HeaderMap,
        ctx: &ToolContext,
        secrets: &mut Secrets,
    ) -> Result<(), String> {
        let shared = &self.inner.shared;
        shared.headers.add_to(secrets);
        shared.headers.write(headers);
        let Some(provider) = &shared.header_provider else { return Ok(()) };
        let made = provider(ReadonlyContext::new(ctx.clone())).await.map_err(|error| error.to_string())?;
        let mut further = Headers::default();
        for (name, value) in &made {
            set_header(&mut further, name, value).map_err(|reason| format!("`{name}`: {reason}"))?;
        }
        further.add_to(secrets);
        further.write(headers);
        Ok(())
    }
}

impl Tool for RestApiTool {
    fn name(&self) -> &str {
        self.inner.declaration.name.as_deref().unwrap_or_default()
    }

    fn description(&self) -> &str {
        self.inner.declaration.description.as_deref().unwrap_or_default()
    }

    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
        Some(&self.inner.declaration)
    }

    fn check_require_confirmation<'a>(
        &'a self,
        args: &'a Map,
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<bool, NodeError>> {
        let condition = self.inner.shared.confirm.as_ref();
        Box::pin(ready(Ok(condition.is_some_and(|condition| condition(self.operation(), args, ctx)))))
    }

    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        Box::pin(self.call(args, ctx))
    }
}

impl fmt::Debug for RestApiTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestApiTool")
            .field("name", &self.name())
            .field("operation", self.operation())
            .finish_non_exhaustive()
    }
}
