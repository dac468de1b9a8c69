//! [`ModelByTurn`]: a scripted model that a resumed process can ask again.

use futures_util::{StreamExt as _, stream};
use pleach_core::FunctionCall;
use pleach_model::{LlmResponse, Model, ModelCall, ModelError, ModelErrorKind, ResponseStream};
use serde_json::Value;

/// A model that answers by the place of a request in its conversation. A request without contents of the model gets the
/// first reply, a request with one content of the model gets the second one, and so on.
///
/// A [`ScriptedModel`](pleach_model::ScriptedModel) removes each reply that it returns: a process that is cut off
/// before the reply is stored gets the next one when it asks again. This model keeps no state, so it suits agents in a
/// [`ResumeProperty`](crate::ResumeProperty). A request beyond the script fails with
/// [`ModelErrorKind::ScriptExhausted`].
///
/// ```
/// use pleach_testkit::ModelByTurn;
/// use serde_json::json;
///
/// let model = ModelByTurn::new().then_call("weather", json!({"city": "Oslo"})).then_text("Sunny.").repeating();
/// # drop(model);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ModelByTurn {
    replies: Vec<Result<LlmResponse, String>>,
    repeats: bool,
}

impl ModelByTurn {
    /// Creates a model without replies.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a reply with a text.
    #[must_use]
    pub fn then_text(self, text: impl Into<String>) -> Self {
        self.then(LlmResponse::text(text))
    }

    /// Adds a reply that calls a tool. Arguments that are not an object fail the model call.
    #[must_use]
    pub fn then_call(mut self, name: impl Into<String>, args: Value) -> Self {
        let name = name.into();
        let Value::Object(args) = args else {
            self.replies.push(Err(format!("the arguments of the scripted call of `{name}` are not an object")));
            return self;
        };
        // Without an id, as in most models' calls: the runtime makes one.
        let mut call = FunctionCall::new("", name, args);
        call.id = None;
        self.then(LlmResponse::calls([call]))
    }

    /// Adds a reply.
    #[must_use]
    pub fn then(mut self, reply: impl Into<LlmResponse>) -> Self {
        self.replies.push(Ok(reply.into()));
        self
    }

    /// Repeats the last reply for every request beyond the script.
    #[must_use]
    pub fn repeating(mut self) -> Self {
        self.repeats = true;
        self
    }
}

impl Model for ModelByTurn {
    fn name(&self) -> &str {
        "model-by-turn"
    }

    fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a> {
        let said = call.request.contents.iter().filter(|content| content.role.as_deref() == Some("model")).count();
        let last = self.replies.last().filter(|_| self.repeats);
        let reply = self.replies.get(said).or(last).cloned().ok_or_else(|| {
            let message = format!("turn {} of a script of {}", said + 1, self.replies.len());
            ModelError::new(self.name(), ModelErrorKind::ScriptExhausted).with_message(message)
        });
        let reply = reply.and_then(|reply| {
            reply.map_err(|fault| ModelError::new(self.name(), ModelErrorKind::InvalidRequest).with_message(fault))
        });
        stream::iter([reply]).boxed()
    }
}
