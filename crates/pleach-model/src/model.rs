//! The trait that a model implements.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use pleach_core::{Clock, IdGen, RandomIds};
use serde_json::Value;

use crate::{LlmRequest, LlmResponse, ModelError};

/// The responses to one call, in the order of their arrival.
pub type ResponseStream<'a> = Pin<Box<dyn Stream<Item = Result<LlmResponse, ModelError>> + Send + 'a>>;

/// A model that agents ask. ADK: `BaseLlm`
///
/// A model serves concurrent calls, and keeps no state between calls on which a later answer depends.
///
/// ```
/// use futures_util::{StreamExt as _, stream};
/// use pleach_model::{LlmResponse, Model, ModelCall, ResponseStream};
///
/// struct Echo;
///
/// impl Model for Echo {
///     fn name(&self) -> &str {
///         "echo"
///     }
///
///     fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a> {
///         let said = call.request.contents.last().map(|content| content.text()).unwrap_or_default();
///         stream::iter([Ok(LlmResponse::text(said))]).boxed()
///     }
/// }
/// ```
pub trait Model: Send + Sync + 'static {
    /// Returns the name of the model in requests, for example `gemini-3.5-flash`.
    fn name(&self) -> &str;

    /// Returns the name of the model's provider for traces and metrics (`gen_ai.provider.name`), for example `openai`.
    /// If a server is compatible with a provider, its client returns the name of that provider.
    fn provider(&self) -> Option<&str> {
        None
    }

    /// Answers one call.
    ///
    /// Without streaming, the stream yields one complete response. With streaming, it yields fragments, which are
    /// marked as partial, and then one complete response with the whole answer; [`Aggregator`](crate::Aggregator) makes
    /// that response. An error ends the stream, and the responses before it are not an answer. A stream that ends with
    /// a fragment is not an answer either.
    ///
    /// # Cancel safety
    /// Dropping the stream ends the call: the client then closes its connection.
    fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a>;

    /// Returns which optional features the model supports.
    fn capabilities(&self) -> ModelCapabilities {
        ModelCapabilities::default()
    }

    /// Checks, before any request, that the model's provider can enforce a JSON Schema for answers. An agent with a
    /// model and an output schema calls this when it is built.
    ///
    /// # Errors
    /// A [`ModelErrorKind::InvalidRequest`](crate::ModelErrorKind::InvalidRequest) that names the fields that the
    /// model's provider cannot enforce. [`generate`](Self::generate) fails with the same error before it sends such a
    /// schema.
    fn check_output_schema(&self, _schema: &Value) -> Result<(), ModelError> {
        Ok(())
    }
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn provider(&self) -> Option<&str> {
        (**self).provider()
    }

    fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a> {
        (**self).generate(call)
    }

    fn capabilities(&self) -> ModelCapabilities {
        (**self).capabilities()
    }

    fn check_output_schema(&self, schema: &Value) -> Result<(), ModelError> {
        (**self).check_output_schema(schema)
    }
}

/// The optional features that a model supports. ADK: `LlmCapabilities`
// L27
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelCapabilities {
    /// Whether the model follows a schema for the answer in requests that also have tools.
    pub output_schema_and_tools: bool,
    /// Whether the model pairs a call with its response by id, so that it must also receive ids made by the runtime.
    // L52
    pub pairs_calls_by_id: bool,
}

impl ModelCapabilities {
    /// Sets whether a schema for the answer can be combined with tools.
    #[must_use]
    pub fn output_schema_and_tools(mut self, can: bool) -> Self {
        self.output_schema_and_tools = can;
        self
    }

    /// Sets whether calls are paired with responses by id.
    #[must_use]
    pub fn pairs_calls_by_id(mut self, pairs: bool) -> Self {
        self.pairs_calls_by_id = pairs;
        self
    }
}

/// One call of a model: the request, and the parts of the invocation that the model uses.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ModelCall<'a> {
    /// The request.
    pub request: &'a LlmRequest,
    /// Whether fragments should be yielded as they arrive.
    pub streaming: bool,
    /// The invocation's clock, which the model uses for waiting.
    pub clock: &'a dyn Clock,
    /// The source of the invocation's ids, for streamed calls without an id.
    pub ids: &'a dyn IdGen,
    /// The function that [`ModelCall::waits`] calls.
    pub on_wait: Option<&'a OnWait<'a>>,
}

/// The function that is called when a model's client waits before it retries.
type OnWait<'a> = dyn Fn(&ModelWait<'_>) + Send + Sync + 'a;

/// A wait of a model's client before it retries a request.
#[derive(Clone, Copy, Debug)]
pub struct ModelWait<'w> {
    /// The model that was asked.
    pub model: &'w str,
    /// Why the last attempt failed.
    pub error: &'w ModelError,
    /// How long the client waits.
    pub wait: Duration,
    /// The number of attempts so far.
    pub attempts: u32,
}

impl<'a> ModelCall<'a> {
    /// Creates a call without streaming, with random ids.
    pub fn new(request: &'a LlmRequest, clock: &'a dyn Clock) -> Self {
        Self { request, streaming: false, clock, ids: &RandomIds, on_wait: None }
    }

    /// Sets whether fragments should be yielded as they arrive.
    #[must_use]
    pub fn streaming(mut self, streaming: bool) -> Self {
        self.streaming = streaming;
        self
    }

    /// Sets the source of ids.
    #[must_use]
    pub fn ids(mut self, ids: &'a dyn IdGen) -> Self {
        self.ids = ids;
        self
    }

    /// Sets the function that is called for [waits](Self::waits).
    #[must_use]
    pub fn on_wait(mut self, hear: &'a OnWait<'a>) -> Self {
        self.on_wait = Some(hear);
        self
    }

    /// Reports that no response will arrive for a while. A client calls this before it waits, so that followers of the
    /// run see the reason.
    pub fn waits(&self, wait: &ModelWait<'_>) {
        if let Some(hear) = self.on_wait {
            hear(wait);
        }
    }
}

impl fmt::Debug for ModelCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelCall")
            .field("request", self.request)
            .field("streaming", &self.streaming)
            .finish_non_exhaustive()
    }
}
