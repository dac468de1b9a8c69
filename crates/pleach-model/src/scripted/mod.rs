//! A model that answers from a script, for tests and examples.

mod reply;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::stream::{self, StreamExt as _};
use serde_json::Value;

use crate::{LlmRequest, Model, ModelCall, ModelCapabilities, ModelError, ModelErrorKind, ResponseStream};
pub use reply::ScriptedReply;

/// A model that answers from a script, and records its requests.
///
/// Each call gets the next reply. Clones share one script, so a test can pass one clone to an agent and read the
/// requests from another. A call beyond the script fails with [`ModelErrorKind::ScriptExhausted`].
///
/// ```
/// use pleach_model::ScriptedModel;
/// use serde_json::json;
///
/// let model = ScriptedModel::calling("weather", json!({"city": "Oslo"})).then_text("Sunny in Oslo.");
/// assert_eq!(model.replies_left(), 2);
/// ```
#[derive(Clone)]
pub struct ScriptedModel {
    name: Arc<str>,
    capabilities: ModelCapabilities,
    script: Arc<Mutex<Script>>,
}

/// A call that a [`ScriptedModel`] received.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedCall {
    /// The request.
    pub request: LlmRequest,
    /// Whether the call asked for fragments.
    pub streaming: bool,
}

#[derive(Default)]
struct Script {
    replies: VecDeque<ScriptedReply>,
    /// The number of replies that were ever added to the script.
    length: usize,
    /// The reply to every call beyond the script.
    repeated: Option<ScriptedReply>,
    calls: Vec<RecordedCall>,
}

impl ScriptedModel {
    /// Creates a model named `scripted` without replies.
    #[must_use]
    pub fn new() -> Self {
        Self { name: "scripted".into(), capabilities: ModelCapabilities::default(), script: Arc::default() }
    }

    /// Creates a model whose first reply is a text.
    pub fn saying(text: impl Into<String>) -> Self {
        Self::new().then_text(text)
    }

    /// Creates a model whose first reply calls a function; see [`then_call`](Self::then_call).
    pub fn calling(name: impl Into<String>, args: Value) -> Self {
        Self::new().then_call(name, args)
    }

    /// Adds a reply with a text.
    #[must_use]
    pub fn then_text(self, text: impl Into<String>) -> Self {
        self.then(ScriptedReply::text(text))
    }

    /// Adds a reply that calls a function, without an id, as Gemini does. Arguments that are not an object fail the
    /// model call.
    #[must_use]
    pub fn then_call(self, name: impl Into<String>, args: Value) -> Self {
        self.then(ScriptedReply::calls([(name, args)]))
    }

    /// Adds a reply that calls several functions at once, in this order.
    #[must_use]
    pub fn then_calls<N: Into<String>>(self, calls: impl IntoIterator<Item = (N, Value)>) -> Self {
        self.then(ScriptedReply::calls(calls))
    }

    /// Adds a reply with a text in fragments. With streaming, the fragments arrive one by one, followed by the whole
    /// text. Without streaming, only the whole text arrives.
    #[must_use]
    pub fn then_fragments<T: Into<String>>(self, texts: impl IntoIterator<Item = T>) -> Self {
        self.then(ScriptedReply::fragments(texts.into_iter().map(|text| crate::LlmResponse::text(text))))
    }

    /// Adds a reply that is an error.
    #[must_use]
    pub fn then_error(self, error: ModelError) -> Self {
        self.then(ScriptedReply::error(error))
    }

    /// Adds a reply: a text, a response, or a [`ScriptedReply`] with delays or an error midway.
    #[must_use]
    pub fn then(self, reply: impl Into<ScriptedReply>) -> Self {
        let mut script = self.lock();
        script.replies.push_back(reply.into());
        script.length += 1;
        drop(script);
        self
    }

    /// Repeats the last reply of the script so far for every later call.
    #[must_use]
    pub fn repeating(self) -> Self {
        let mut script = self.lock();
        script.repeated = script.replies.back().cloned();
        drop(script);
        self
    }

    /// Sets the model's name.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the capabilities of the model.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: ModelCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Returns the calls that the model received, in order.
    pub fn calls(&self) -> Vec<RecordedCall> {
        self.lock().calls.clone()
    }

    /// Returns the requests that the model received, in order.
    pub fn requests(&self) -> Vec<LlmRequest> {
        self.lock().calls.iter().map(|call| call.request.clone()).collect()
    }

    /// Returns how many replies of the script are left.
    pub fn replies_left(&self) -> usize {
        self.lock().replies.len()
    }

    /// Records a call and takes its reply.
    fn take_reply(&self, call: &ModelCall<'_>) -> Result<ScriptedReply, ModelError> {
        let mut script = self.lock();
        script.calls.push(RecordedCall { request: call.request.clone(), streaming: call.streaming });
        let reply = script.replies.pop_front().or_else(|| script.repeated.clone());
        reply.ok_or_else(|| {
            let message = format!("call {} of a script of {}", script.calls.len(), script.length);
            ModelError::new(&*self.name, ModelErrorKind::ScriptExhausted).with_message(message)
        })
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for ScriptedModel {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = self.lock();
        f.debug_struct("ScriptedModel")
            .field("name", &self.name)
            .field("replies_left", &script.replies.len())
            .field("calls", &script.calls.len())
            .finish()
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a> {
        let steps = match self.take_reply(&call) {
            Ok(reply) => reply.play(&self.name, &call),
            Err(error) => return stream::iter([Err(error)]).boxed(),
        };
        let wait = move |step: reply::Step| async move {
            if let Some(delay) = step.delay {
                call.clock.sleep(delay).await;
            }
            step.item
        };
        stream::iter(steps).then(wait).boxed()
    }

    fn capabilities(&self) -> ModelCapabilities {
        self.capabilities
    }
}

#[cfg(test)]
mod tests;
