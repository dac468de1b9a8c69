//! [`OpenApiToolsetBuilder`]: the operations of a toolset, their servers, credentials and limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pleach_auth::AuthCredential;
use pleach_context::{NodeError, ReadonlyContext, ToolContext};
use pleach_core::{Clock, Map};
use secrecy::SecretString;

use crate::auth::Access;
use crate::http::{HeaderProvider, Limits};
use crate::tool::Condition;
use crate::{OpenApiDocument, OpenApiOperation, OpenApiToolset};

/// Chooses the operations of a toolset, their servers, credentials and limits. [`OpenApiToolset::builder`] returns it.
#[must_use]
pub struct OpenApiToolsetBuilder {
    pub(crate) document: OpenApiDocument,
    pub(crate) name: Option<String>,
    pub(crate) prefix: Option<String>,
    pub(crate) keeps_case: bool,
    pub(crate) filter: Option<Filter>,
    pub(crate) only: Option<Vec<String>>,
    pub(crate) leaves_out_faulty: bool,
    pub(crate) base_url: Option<String>,
    pub(crate) document_url: Option<String>,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) plain_http: bool,
    pub(crate) access: Access,
    pub(crate) token_urls: Vec<(String, String)>,
    pub(crate) ignores_security: bool,
    pub(crate) headers: Vec<(String, SecretString)>,
    pub(crate) header_provider: Option<HeaderProvider>,
    pub(crate) confirm: Option<Condition>,
    pub(crate) limits: Limits,
}

/// Decides whether an operation becomes a tool.
pub(crate) type Filter = Arc<dyn Fn(&OpenApiOperation) -> bool + Send + Sync>;

impl OpenApiToolset {
    /// Returns a builder for the operations of a document: JSON or YAML as text, or a value.
    pub fn builder(document: impl Into<OpenApiDocument>) -> OpenApiToolsetBuilder {
        OpenApiToolsetBuilder::new(document.into())
    }
}

impl OpenApiToolsetBuilder {
    fn new(document: OpenApiDocument) -> Self {
        Self {
            document,
            name: None,
            prefix: None,
            keeps_case: false,
            filter: None,
            only: None,
            leaves_out_faulty: false,
            base_url: None,
            document_url: None,
            variables: Vec::new(),
            plain_http: false,
            access: Access::default(),
            token_urls: Vec::new(),
            ignores_security: false,
            headers: Vec::new(),
            header_provider: None,
            confirm: None,
            limits: Limits {
                connect: Duration::from_secs(10),
                call: Duration::from_secs(60),
                response_bytes: 1 << 20,
                clock: None,
            },
        }
    }

    /// Sets the name in errors and logs. The default is the document's title in snake case.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Names the tools `<prefix>_<name>`. ADK: `tool_name_prefix`
    #[doc(alias = "tool_name_prefix")]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Names the arguments as the document does, not in snake case. Characters other than letters, digits, `_`, `.` and
    /// `-` become `_`.
    /// ADK: `preserve_property_names`
    pub fn preserve_property_names(mut self) -> Self {
        self.keeps_case = true;
        self
    }

    /// Leaves out the operations for which `filter` returns false, and ignores their faults. [`build`](Self::build)
    /// calls it once for each operation.
    /// ADK: `tool_filter`
    #[doc(alias = "tool_filter")]
    pub fn filter(mut self, filter: impl Fn(&OpenApiOperation) -> bool + Send + Sync + 'static) -> Self {
        let before = self.filter.take();
        self.filter = Some(Arc::new(move |operation| {
            before.as_ref().is_none_or(|before| before(operation)) && filter(operation)
        }));
        self
    }

    /// Leaves out all operations but these. Each is an `operationId`, or a method and a path such as `GET /pets`.
    /// ADK: `tool_filter`
    pub fn only<S: Into<String>>(mut self, operations: impl IntoIterator<Item = S>) -> Self {
        self.only = Some(operations.into_iter().map(Into::into).collect());
        self
    }

    /// Leaves out the operations that have faults, with a warning. [`OpenApiToolset::left_out`] returns the faults.
    /// Without this call, a fault fails [`build`](Self::build).
    pub fn leave_out_faulty(mut self) -> Self {
        self.leaves_out_faulty = true;
        self
    }

    /// Sends all operations to this address, for example `https://api.example.com/v1`, instead of the servers of the
    /// document.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the address of the document. Relative URLs of servers are resolved against it.
    pub fn document_url(mut self, url: impl Into<String>) -> Self {
        self.document_url = Some(url.into());
        self
    }

    /// Sets a variable in the URLs of servers. Without it, the default of the document is used.
    pub fn server_variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Allows sending credentials and headers to another machine without encryption.
    pub fn allow_plain_http(mut self) -> Self {
        self.plain_http = true;
        self
    }

    /// Sets the credential for all security schemes that accept its kind, so that no client is asked for it.
    /// [`build`](Self::build) refuses a credential that would be sent to several servers, or twice with one call.
    /// ADK: `auth_credential`
    #[doc(alias = "auth_credential")]
    pub fn credential(mut self, credential: AuthCredential) -> Self {
        self.access.general = Some(credential);
        self
    }

    /// Sets the credential for the security scheme of this name. For OAuth2 it may be the OAuth2 client alone; users
    /// are then asked to sign in.
    pub fn credential_for(mut self, scheme: impl Into<String>, credential: AuthCredential) -> Self {
        self.access.named.insert(scheme.into(), credential);
        self
    }

    /// Sets the endpoint that issues and refreshes the tokens of an OAuth2 scheme, for example
    /// `https://id.example.com/token`. The address in the document is used only if it is on the server of the API,
    /// because the endpoint gets the client's secret.
    pub fn token_url(mut self, scheme: impl Into<String>, url: impl Into<String>) -> Self {
        self.token_urls.push((scheme.into(), url.into()));
        self
    }

    /// Ignores security requirements: no credential is sent or asked for. Use this if the program sends credentials in
    /// headers of its own.
    pub fn ignore_security(mut self) -> Self {
        self.ignores_security = true;
        self
    }

    /// Adds a header to every request. Its value is treated as a secret. A parameter of the same name is hidden from
    /// the model.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), SecretString::from(value.into())));
        self
    }

    /// Sets a function that returns further headers for each call. They replace headers of the same name.
    /// ADK: `header_provider`
    pub fn header_provider<F, Fut, H, N, V>(mut self, provider: F) -> Self
    where
        F: Fn(ReadonlyContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<H, NodeError>> + Send + 'static,
        H: IntoIterator<Item = (N, V)>,
        N: Into<String>,
        V: Into<String>,
    {
        self.header_provider = Some(Arc::new(move |ctx| {
            let made = provider(ctx);
            Box::pin(
                async move { Ok(made.await?.into_iter().map(|(name, value)| (name.into(), value.into())).collect()) },
            )
        }));
        self
    }

    /// Asks a person to approve every call.
    pub fn require_confirmation(self) -> Self {
        self.confirm_if(|_, _, _| true)
    }

    /// Asks a person to approve the calls for which `condition` is true, for example those that do more than read:
    /// `|operation, _, _| !operation.is_read_only()`.
    pub fn confirm_if(
        mut self,
        condition: impl Fn(&OpenApiOperation, &Map, &ToolContext) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.confirm = Some(Arc::new(condition));
        self
    }

    /// Sets how long connecting to a server may take, by the system's clock. The default is 10 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.limits.connect = timeout;
        self
    }

    /// Sets how long a call may take. The default is 60 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.limits.call = timeout;
        self
    }

    /// Sets the maximum size of the body of an answer, in bytes. The default is 1 MiB. If the body is larger, the model
    /// gets an error.
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.limits.response_bytes = bytes;
        self
    }

    /// Sets the clock that measures calls, for tests. The default is the clock of each call's invocation.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.limits.clock = Some(clock);
        self
    }
}

impl fmt::Debug for OpenApiToolsetBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenApiToolsetBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
