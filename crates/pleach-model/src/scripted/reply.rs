//! The reply of a scripted model to one call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pleach_core::FunctionCall;
use serde_json::Value;

use crate::{Aggregator, LlmRequest, LlmResponse, ModelCall, ModelError, ModelErrorKind};

/// The reply of a [`ScriptedModel`](crate::ScriptedModel) to one call.
///
/// ```
/// use std::time::Duration;
///
/// use pleach_model::{ModelError, ModelErrorKind, ScriptedModel, ScriptedReply};
///
/// let cut = ModelError::new("scripted", ModelErrorKind::StreamCut);
/// let model = ScriptedModel::new()
///     .then(ScriptedReply::text("slow").after(Duration::from_secs(5)))
///     .then(ScriptedReply::fragments(["half an ", "ans"]).then_error(cut))
///     .then(ScriptedReply::with(|request| format!("{} contents", request.contents.len()).into()));
/// assert_eq!(model.replies_left(), 3);
/// ```
#[derive(Clone)]
pub struct ScriptedReply {
    body: Body,
    /// The error with which the reply ends instead of the whole answer.
    error: Option<ModelError>,
    delay: Option<Duration>,
    gap: Option<Duration>,
}

#[derive(Clone)]
enum Body {
    /// No response, only the error.
    Nothing,
    Whole(Box<LlmResponse>),
    /// Fragments, followed by the whole answer that they make.
    Fragments(Vec<LlmResponse>),
    /// Responses, unchanged.
    Responses(Vec<LlmResponse>),
    With(Arc<dyn Fn(&LlmRequest) -> LlmResponse + Send + Sync>),
    /// A call whose arguments are not an object; the value is the function's name.
    BadArguments(String),
}

/// One item of the stream, and the delay before it.
pub(super) struct Step {
    pub(super) delay: Option<Duration>,
    pub(super) item: Result<LlmResponse, ModelError>,
}

impl ScriptedReply {
    fn of(body: Body) -> Self {
        Self { body, error: None, delay: None, gap: None }
    }

    /// Creates a reply with a text.
    pub fn text(text: impl Into<String>) -> Self {
        LlmResponse::text(text).into()
    }

    /// Creates a reply that calls functions, without ids. Arguments that are not an object fail the model call.
    pub fn calls<N: Into<String>>(calls: impl IntoIterator<Item = (N, Value)>) -> Self {
        let mut all = Vec::new();
        for (name, args) in calls {
            let name = name.into();
            let Value::Object(args) = args else { return Self::of(Body::BadArguments(name)) };
            all.push(FunctionCall { name: Some(name), args: Some(args), ..FunctionCall::default() });
        }
        LlmResponse::calls(all).into()
    }

    /// Creates a reply of fragments, followed by the whole answer that they make. Without streaming, only the whole
    /// answer is yielded.
    pub fn fragments<R: Into<LlmResponse>>(fragments: impl IntoIterator<Item = R>) -> Self {
        Self::of(Body::Fragments(fragments.into_iter().map(Into::into).collect()))
    }

    /// Creates a reply of these responses, unchanged, whether fragments are wanted or not.
    pub fn responses(responses: impl IntoIterator<Item = LlmResponse>) -> Self {
        Self::of(Body::Responses(responses.into_iter().collect()))
    }

    /// Creates a reply that a function computes from the request.
    pub fn with(answer: impl Fn(&LlmRequest) -> LlmResponse + Send + Sync + 'static) -> Self {
        Self::of(Body::With(Arc::new(answer)))
    }

    /// Creates a reply that is an error.
    pub fn error(error: ModelError) -> Self {
        Self { error: Some(error), ..Self::of(Body::Nothing) }
    }

    /// Ends the reply with an error after the fragments or responses, without a whole answer.
    #[must_use]
    pub fn then_error(mut self, error: ModelError) -> Self {
        self.error = Some(error);
        self
    }

    /// Delays the first response, or the error, by this time of the invocation's clock.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Waits this time of the invocation's clock between two responses.
    #[must_use]
    pub fn with_gaps(mut self, gap: Duration) -> Self {
        self.gap = Some(gap);
        self
    }

    /// Returns the items of the stream that answers `call`.
    pub(super) fn play(self, model: &str, call: &ModelCall<'_>) -> Vec<Step> {
        let Self { body, error, delay, gap } = self;
        let is_cut = error.is_some();
        let mut items: Vec<Result<LlmResponse, ModelError>> = match body {
            Body::Nothing => Vec::new(),
            Body::Whole(_) | Body::With(_) if is_cut => Vec::new(),
            Body::Whole(response) => vec![Ok(*response)],
            Body::With(answer) => vec![Ok(answer(call.request))],
            Body::Responses(responses) => responses.into_iter().map(Ok).collect(),
            Body::Fragments(fragments) => aggregated(fragments, is_cut, call).into_iter().map(Ok).collect(),
            Body::BadArguments(name) => {
                let message = format!("the arguments of the scripted call of `{name}` are not an object");
                vec![Err(ModelError::new(model, ModelErrorKind::InvalidRequest).with_message(message))]
            }
        };
        items.extend(error.map(Err));
        let delays = std::iter::once(delay).chain(std::iter::repeat(gap));
        items.into_iter().zip(delays).map(|(item, delay)| Step { delay, item }).collect()
    }
}

/// Returns the fragments, if they are wanted, and the whole answer, unless the stream is cut.
fn aggregated(fragments: Vec<LlmResponse>, is_cut: bool, call: &ModelCall<'_>) -> Vec<LlmResponse> {
    let mut aggregator = Aggregator::default();
    let mut items: Vec<LlmResponse> =
        fragments.into_iter().map(|fragment| aggregator.push(fragment, call.ids)).collect();
    if !call.streaming {
        items.clear();
    }
    items.extend(aggregator.finish().filter(|_| !is_cut));
    items
}

/// Debug output shows the kind of reply, but none of its contents.
impl fmt::Debug for ScriptedReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.body {
            Body::Nothing => "nothing",
            Body::Whole(_) => "response",
            Body::Fragments(_) => "fragments",
            Body::Responses(_) => "responses",
            Body::With(_) => "function",
            Body::BadArguments(_) => "bad arguments",
        };
        f.debug_struct("ScriptedReply").field("kind", &kind).field("error", &self.error).finish_non_exhaustive()
    }
}

impl<R: Into<LlmResponse>> From<R> for ScriptedReply {
    fn from(response: R) -> Self {
        Self::of(Body::Whole(Box::new(response.into())))
    }
}
