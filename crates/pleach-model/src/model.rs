//! The trait that a model implements.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use pleach_core::{Clock, IdGen, RandomIds};
use serde_json::Value;

use crate::{LlmRequest, LlmResponse, ModelError};

/// The responses to one call, as they come.
pub type ResponseStream<'a> = Pin<Box<dyn Stream<Item = Result<LlmResponse, ModelError>> + Send + 'a>>;

/// A model that agents ask. ADK: `BaseLlm`
///
/// One model serves concurrent calls, and keeps nothing between them that a later answer depends on.
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
    /// The name under which requests name the model, for example `gemini-3.5-flash`.
    fn name(&self) -> &str;

    /// Answers one call.
    ///
    /// Without streaming the stream gives one complete response. With streaming it gives fragments, which are marked as
    /// partial, and then one complete response with the whole answer ([`Aggregator`](crate::Aggregator) makes it). An
    /// error ends the stream; what came before it is not an answer. A stream that ends behind a fragment is no answer
    /// either.
    ///
    /// # Cancel safety
    /// Dropping the stream ends the call: a client closes its connection then.
    fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a>;

    /// Returns what the model can do beyond answering.
    fn capabilities(&self) -> ModelCapabilities {
        ModelCapabilities::default()
    }

    /// Checks that answers can be held to a JSON Schema, before anything is asked. An agent with a model and an output schema
    /// does so when it is built.
    ///
    /// # Errors
    /// A [`ModelErrorKind::InvalidRequest`](crate::ModelErrorKind::InvalidRequest) that names the fields that the model's
    /// provider cannot be held to. [`generate`](Self::generate) fails with the same one before it sends such a schema.
    fn check_output_schema(&self, _schema: &Value) -> Result<(), ModelError> {
        Ok(())
    }
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
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

/// What a model can do beyond answering. ADK: `LlmCapabilities`
// L27
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelCapabilities {
    /// The model keeps to a schema of the answer in requests that also have tools.
    pub output_schema_and_tools: bool,
    /// The model pairs a call with its response by id, so that it must get the ids that the runtime made, too.
    // L52
    pub pairs_calls_by_id: bool,
}

impl ModelCapabilities {
    /// Sets whether a schema of the answer can be combined with tools.
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

/// One call of a model: the request, and what the invocation lends to the model.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ModelCall<'a> {
    /// What is asked.
    pub request: &'a LlmRequest,
    /// Whether fragments are wanted as they come.
    pub streaming: bool,
    /// The invocation's time: a model waits by it.
    pub clock: &'a dyn Clock,
    /// The invocation's ids: streamed calls without one get theirs from it.
    pub ids: &'a dyn IdGen,
    /// The function that [`ModelCall::waits`] calls.
    pub on_wait: Option<&'a OnWait<'a>>,
}

/// Hears that a model's client waits before it sends a request again.
type OnWait<'a> = dyn Fn(&ModelWait<'_>) + Send + Sync + 'a;

/// A wait of a model's client before it sends a request again.
#[derive(Clone, Copy, Debug)]
pub struct ModelWait<'w> {
    /// The model that was asked.
    pub model: &'w str,
    /// Why the last attempt failed.
    pub error: &'w ModelError,
    /// How long the client waits.
    pub wait: Duration,
    /// How many attempts were made.
    pub attempts: u32,
}

impl<'a> ModelCall<'a> {
    /// Makes a call without streaming, with random ids.
    pub fn new(request: &'a LlmRequest, clock: &'a dyn Clock) -> Self {
        Self { request, streaming: false, clock, ids: &RandomIds, on_wait: None }
    }

    /// Sets whether fragments are wanted as they come.
    #[must_use]
    pub fn streaming(mut self, streaming: bool) -> Self {
        self.streaming = streaming;
        self
    }

    /// Sets where ids come from.
    #[must_use]
    pub fn ids(mut self, ids: &'a dyn IdGen) -> Self {
        self.ids = ids;
        self
    }

    /// Sets the function that hears of [waits](Self::waits).
    #[must_use]
    pub fn on_wait(mut self, hear: &'a OnWait<'a>) -> Self {
        self.on_wait = Some(hear);
        self
    }

    /// Says that nothing comes for a while. A client calls it before it waits, so that those who follow the run see why.
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
