//! Responses of models.

use pleach_core::{Content, Event, FunctionCall, FunctionResponse, Map, ModelInfo, Part, drop_reserved_metadata};
use serde_json::Value;

/// A model's response, or a fragment of it. ADK: `LlmResponse`
///
/// ```
/// use pleach_core::Event;
/// use pleach_model::LlmResponse;
///
/// let mut event = Event::from_author("helper");
/// LlmResponse::text("Sunny.").apply_to(&mut event);
/// assert_eq!(event.text(), "Sunny.");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LlmResponse {
    /// The text and the calls.
    pub content: Option<Content>,
    /// `Some(true)` for a fragment. Fragments are not acted on and not stored.
    pub partial: Option<bool>,
    /// Whether a live turn is over.
    pub turn_complete: Option<bool>,
    /// The reason why there is no usable answer, for example `SAFETY`.
    pub error_code: Option<String>,
    /// The same reason, for people.
    pub error_message: Option<String>,
    /// Metadata of the application. It is user data, so its keys keep their casing.
    pub custom_metadata: Option<Map>,
    /// The tokens used, the sources, and the reason why the model stopped.
    pub info: ModelInfo,
}

impl LlmResponse {
    /// Creates a response with this content.
    pub fn of(content: Content) -> Self {
        Self { content: Some(content), ..Self::default() }
    }

    /// Creates a response with a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Content::model(text))
    }

    /// Creates a response that calls functions. The agent adds ids to calls without one.
    pub fn calls(calls: impl IntoIterator<Item = FunctionCall>) -> Self {
        Self::of(Content::new("model", calls.into_iter().map(Part::function_call)))
    }

    /// Creates a response that reports an error of the model, for example a blocked answer. The run continues with this
    /// response.
    pub fn error(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { error_code: Some(code.into()), error_message: Some(message.into()), ..Self::default() }
    }

    /// Marks the response as a fragment.
    #[must_use]
    pub fn as_fragment(mut self) -> Self {
        self.partial = Some(true);
        self
    }

    /// Returns true if the response is a fragment.
    pub fn is_partial(&self) -> bool {
        self.partial == Some(true)
    }

    /// Iterates over the function calls.
    pub fn function_calls(&self) -> impl Iterator<Item = &FunctionCall> {
        self.content.iter().flat_map(|content| content.function_calls())
    }

    /// Iterates over the function responses.
    pub fn function_responses(&self) -> impl Iterator<Item = &FunctionResponse> {
        self.content.iter().flat_map(|content| content.function_responses())
    }

    /// Returns true if the response needs no event: it has no content, no error, no interruption and no grounding.
    // L86
    pub fn is_blank(&self) -> bool {
        let has_error = self.error_code.as_ref().is_some_and(|code| !code.is_empty());
        self.content.is_none()
            && !has_error
            && self.info.interrupted != Some(true)
            && self.info.grounding_metadata.is_none()
    }

    /// Moves every field that the response has onto the event. Other fields of the event stay.
    // L85
    pub fn apply_to(self, event: &mut Event) {
        let Self { content, partial, turn_complete, error_code, error_message, custom_metadata, info } = self;
        if content.is_some() {
            event.set_content(content);
        }
        if partial.is_some() {
            event.set_partial(partial);
        }
        if turn_complete.is_some() {
            event.set_turn_complete(turn_complete);
        }
        if error_code.is_some() {
            event.set_error_code(error_code);
        }
        if error_message.is_some() {
            event.set_error_message(error_message);
        }
        if let Some(mut metadata) = custom_metadata {
            // The metadata may come from a server, through the model's client.
            drop_reserved_metadata(&mut metadata);
            event.set_custom_metadata(Some(metadata));
        }
        if info != ModelInfo::default() {
            merge_info(event.model_mut(), info);
        }
    }

    /// Takes over three values from the response that this one replaces, if they are not set here. They are `partial`,
    /// `turn_complete` and the tokens used.
    // L137
    #[must_use]
    pub fn replacing(mut self, replaced: &Self) -> Self {
        self.partial = self.partial.or(replaced.partial);
        self.turn_complete = self.turn_complete.or(replaced.turn_complete);
        if self.info.usage_metadata.is_none() {
            self.info.usage_metadata.clone_from(&replaced.info.usage_metadata);
        }
        self
    }

    /// Sets an error if a complete answer has no content although the model stopped by itself.
    ///
    /// The code is `MODEL_RETURNED_NO_CONTENT`. With streaming, only an answer that has parts is checked: responses
    /// without parts are the ends of streams.
    // L161
    pub fn report_missing_content(&mut self, streaming: bool) {
        let parts = self.content.as_ref().map_or(&[][..], |content| content.parts());
        let stopped = self.info.finish_reason.as_deref() == Some("STOP");
        if self.is_partial()
            || self.error_code.is_some()
            || !stopped
            || parts.iter().any(is_meaningful)
            || (streaming && parts.is_empty())
        {
            return;
        }
        let found = if parts.is_empty() {
            "the model stopped without an answer: it returned no parts"
        } else {
            "the model stopped without an answer: it returned only thoughts or blank text"
        };
        self.error_code = Some("MODEL_RETURNED_NO_CONTENT".to_owned());
        self.error_message.get_or_insert_with(|| found.to_owned());
    }
}

/// Returns true if a part answers the user, or is something that the agent acts on.
fn is_meaningful(part: &Part) -> bool {
    let says = !part.is_thought() && part.text.as_ref().is_some_and(|text| !text.trim().is_empty());
    says || part.function_call.is_some()
        || part.function_response.is_some()
        || part.executable_code.is_some()
        || part.code_execution_result.is_some()
        || part.inline_data.is_some()
        || part.file_data.is_some()
}

macro_rules! take_over {
    ($target:ident, $info:ident: $($field:ident)+) => {
        // Every field is listed, so that a new one cannot be forgotten.
        let ModelInfo { $($field),+ } = $info;
        $(if $field.is_some() {
            $target.$field = $field;
        })+
    };
}

fn merge_info(target: &mut ModelInfo, info: ModelInfo) {
    take_over!(target, info:
        model_version grounding_metadata turn_complete_reason interaction_status finish_reason interrupted usage_metadata
        live_session_resumption_update live_session_id go_away voice_activity input_transcription output_transcription
        avg_logprobs logprobs_result cache_metadata citation_metadata interaction_id environment_id);
}

impl From<&str> for LlmResponse {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for LlmResponse {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Content> for LlmResponse {
    fn from(content: Content) -> Self {
        Self::of(content)
    }
}

/// A JSON value becomes an answer whose text is that JSON.
impl From<Value> for LlmResponse {
    fn from(value: Value) -> Self {
        Self::text(value.to_string())
    }
}

#[cfg(test)]
mod tests {
    use pleach_core::Owned;
    use serde_json::json;

    use super::*;

    #[test]
    fn l85_every_field_moves_onto_the_event_and_the_others_stay() {
        let mut event = Event::from_author("a").with_message("before");
        event.model_mut().model_version = Some("v1".into());
        let mut response = LlmResponse::error("SAFETY", "blocked").as_fragment();
        response.turn_complete = Some(true);
        response.custom_metadata = Some(Map::from_iter([("k".to_owned(), json!(1))]));
        response.info.finish_reason = Some("SAFETY".into());
        response.info.usage_metadata = Some(Owned::new(json!({"totalTokenCount": 3})));
        response.apply_to(&mut event);
        assert_eq!((event.text().as_str(), event.is_partial(), event.turn_complete()), ("before", true, Some(true)));
        assert_eq!((event.error_code(), event.error_message()), (Some("SAFETY"), Some("blocked")));
        assert_eq!(event.custom_metadata().unwrap()["k"], json!(1));
        let info = event.model().unwrap();
        assert_eq!((info.model_version.as_deref(), info.finish_reason.as_deref()), (Some("v1"), Some("SAFETY")));
        assert_eq!(info.usage_metadata.as_ref().unwrap().get("total_token_count"), Some(&json!(3)));
    }

    #[test]
    fn l85_a_text_moves_without_being_copied() {
        let response = LlmResponse::text("a long text".repeat(10));
        let place = response.content.as_ref().unwrap().parts()[0].text.as_ref().unwrap().as_ptr();
        let mut event = Event::new();
        response.apply_to(&mut event);
        assert_eq!(event.content().unwrap().parts()[0].text.as_ref().unwrap().as_ptr(), place);
        assert!(event.model().is_none());
    }

    #[test]
    fn l137_a_replacement_takes_over_what_it_does_not_set() {
        let mut replaced = LlmResponse::text("a").as_fragment();
        replaced.info.usage_metadata = Some(Owned::new(json!({"totalTokenCount": 3})));
        replaced.info.finish_reason = Some("STOP".into());
        let new = LlmResponse::text("b").replacing(&replaced);
        assert!(new.is_partial() && new.info.usage_metadata.is_some() && new.info.finish_reason.is_none());
        let whole = LlmResponse { partial: Some(false), ..LlmResponse::text("c") }.replacing(&replaced);
        assert!(!whole.is_partial());
    }

    #[test]
    fn l161_an_answer_without_content_is_an_error() {
        let thought = Part { thought: Some(true), ..Part::text("hm") };
        let stop = |parts: Vec<Part>| {
            let mut response = LlmResponse::of(Content::new("model", parts));
            response.info.finish_reason = Some("STOP".into());
            response
        };
        let judged = |mut response: LlmResponse, streaming| {
            response.report_missing_content(streaming);
            response.error_code
        };
        let missing = Some("MODEL_RETURNED_NO_CONTENT".to_owned());
        for (response, whole, streamed) in [
            (stop(vec![]), &missing, &None),
            (stop(vec![Part::text(" \n")]), &missing, &missing),
            (stop(vec![thought.clone()]), &missing, &missing),
            (stop(vec![thought, Part::text("x")]), &None, &None),
            (stop(vec![Part::bytes("image/png", vec![1])]), &None, &None),
            (stop(vec![]).as_fragment(), &None, &None),
            (LlmResponse::default(), &None, &None),
        ] {
            assert_eq!(judged(response.clone(), false), *whole, "{response:?}");
            assert_eq!(judged(response.clone(), true), *streamed, "{response:?}");
        }
    }

    #[test]
    fn l86_a_blank_response_needs_no_event() {
        assert!(LlmResponse::default().is_blank());
        // google-adk stores an event for a content without parts.
        assert!(!LlmResponse::of(Content::new("model", [])).is_blank());
        assert!(!LlmResponse::error("X", "").is_blank());
        let mut interrupted = LlmResponse::default();
        interrupted.info.interrupted = Some(true);
        assert!(!interrupted.is_blank());
    }
}
