//! The finish reasons of all providers, and their meanings for the answer.
// L235

use pleach_model::{LlmResponse, ModelError, ModelErrorKind};
use serde_json::Value;

/// The maximum number of characters of a finish reason that are shown.
const SHOWN: usize = 64;

/// The end of an answer: the provider's finish reason, and its meaning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finish {
    word: String,
    ending: Ending,
}

/// The meaning of a finish reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    /// The answer is whole.
    Whole,
    /// The reason is unknown. An answer with any content is whole.
    Unknown,
    /// The answer was stopped, for the reason with this code of google-genai. The last call may be incomplete.
    Stopped(&'static str),
    /// The provider failed.
    Failed,
}

impl Finish {
    /// Reads a finish reason; `None` if there is none. Some providers send an empty string or `"null"` instead of
    /// leaving it out.
    ///
    /// An object has the reason in its `type`.
    pub(crate) fn read(value: Option<&Value>) -> Option<Self> {
        let word = match value? {
            Value::Object(reason) => reason.get("type")?.as_str()?,
            word => word.as_str()?,
        };
        let is_none = matches!(squashed(word).as_str(), "" | "null" | "none");
        (!is_none).then(|| Self { word: word.to_owned(), ending: ending(word) })
    }

    /// Returns the worse of two ends, for a server that passes on another server's finish reason.
    #[cfg(feature = "openai")]
    pub(crate) fn or_worse(self, other: Option<Self>) -> Self {
        match other {
            Some(other) if other.ending > self.ending && other.ending != Ending::Unknown => other,
            _ => self,
        }
    }

    /// Returns the reason as google-genai writes it. An unknown reason stays unchanged.
    #[cfg(feature = "gemini")]
    pub(crate) fn reason(&self) -> &str {
        match self.ending {
            Ending::Whole => "STOP",
            Ending::Stopped(code) => code,
            Ending::Unknown | Ending::Failed => &self.word,
        }
    }

    /// Returns true if the answer was stopped before its end.
    #[cfg(feature = "gemini")]
    pub(crate) fn is_stop(&self) -> bool {
        matches!(self.ending, Ending::Stopped(_))
    }

    /// Returns true if the provider failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.ending == Ending::Failed
    }

    /// Sets the finish reason of the whole answer, and the error that it means.
    ///
    /// An answer that was stopped loses its calls: the last one may be incomplete even if its arguments, such as `{}`,
    /// can be read. An answer also loses its calls if the arguments of one are `malformed`. An unknown reason means a
    /// complete answer if there is text or a call; a warning names the reason.
    ///
    /// # Errors
    /// The reason means that the provider failed.
    pub(crate) fn conclude(
        &self,
        model: &str,
        response: &mut LlmResponse,
        malformed: Option<String>,
    ) -> Result<(), ModelError> {
        match (self.ending, malformed) {
            (Ending::Failed, _) => return Err(self.failure(model, response.error_message.take())),
            (Ending::Stopped(code), _) => stop(response, code, stop_message(code).to_owned()),
            (_, Some(fault)) => malformed_calls(response, fault),
            (Ending::Whole, None) => response.info.finish_reason = Some("STOP".to_owned()),
            (Ending::Unknown, None) if has_answer(response) => {
                tracing::warn!(
                    model,
                    word = shown(&self.word),
                    "an answer ends with a word that is not known: it counts as whole"
                );
                response.info.finish_reason = Some("STOP".to_owned());
                response.error_code = None;
                response.error_message = None;
            }
            (Ending::Unknown, None) => {
                let word = shown(&self.word);
                stop(response, "OTHER", format!("the answer is empty and ended for the unknown reason `{word}`"));
            }
        }
        Ok(())
    }

    fn failure(&self, model: &str, message: Option<String>) -> ModelError {
        let error = ModelError::new(model, ModelErrorKind::Unavailable).with_status_text(shown(&self.word));
        match message {
            Some(message) => error.with_message(message),
            None => error,
        }
    }
}

/// Reports that arguments of calls cannot be read. None of the calls runs.
pub(crate) fn malformed_calls(response: &mut LlmResponse, fault: String) {
    stop(response, "MALFORMED_FUNCTION_CALL", fault);
}

/// Turns the answer into one that was stopped: an error without calls. A message of the provider stays.
fn stop(response: &mut LlmResponse, code: &str, message: String) {
    if let Some(parts) = response.content.as_mut().and_then(|content| content.parts.as_mut()) {
        parts.retain(|part| part.function_call.is_none());
    }
    response.info.finish_reason = Some(code.to_owned());
    response.error_code = Some(code.to_owned());
    response.error_message.get_or_insert(message);
}

/// Returns true if the answer has a text or a call.
fn has_answer(response: &LlmResponse) -> bool {
    let parts = response.content.as_ref().map_or(&[][..], |content| content.parts());
    parts.iter().any(|part| {
        let is_empty = part.text.as_ref().is_none_or(|text| text.trim().is_empty());
        !part.is_thought()
            && (!is_empty || (part.text.is_none() && part.thought_signature.is_none()) || part.function_call.is_some())
    })
}

fn stop_message(code: &str) -> &'static str {
    match code {
        "MAX_TOKENS" => "the answer reached the largest number of tokens",
        "SAFETY" => "the provider's filter stopped the answer, or the model refuses it",
        _ => "the provider stopped the answer",
    }
}

/// Returns the beginning of a reason, on one line.
fn shown(word: &str) -> String {
    word.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN).collect()
}

/// Returns a reason in one spelling: servers write `tool_calls`, `TOOL-CALLS` and `toolCalls`.
fn squashed(word: &str) -> String {
    word.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the meaning of a reason. Servers invent their own names for failures and limits, so an unlisted reason is
/// classified by the word parts that it contains.
fn ending(word: &str) -> Ending {
    let word = squashed(word);
    if let Some(known) = known(&word) {
        return known;
    }
    let has = |stems: &[&str]| stems.iter().any(|stem| word.contains(stem));
    if has(&FAILURES) {
        Ending::Failed
    } else if has(&FILTERS) {
        Ending::Stopped("SAFETY")
    } else if has(&LIMITS) {
        Ending::Stopped("MAX_TOKENS")
    } else {
        Ending::Unknown
    }
}

fn known(word: &str) -> Option<Ending> {
    Some(match word {
        "stop" | "stopped" | "toolcalls" | "toolcall" | "functioncall" | "functioncalls" | "tooluse" => Ending::Whole,
        "eos" | "eostoken" | "eosfound" | "endturn" | "endofturn" | "stopsequence" | "stopstringfound"
        | "pauseturn" | "complete" | "completed" => Ending::Whole,
        "length"
        | "maxtokens"
        | "modellength"
        | "modelcontextwindowexceeded"
        | "errorlimit"
        | "limit"
        | "incomplete" => Ending::Stopped("MAX_TOKENS"),
        "contentfilter" | "contentfiltered" | "refusal" | "sensitive" | "errortoxic" | "safety" => {
            Ending::Stopped("SAFETY")
        }
        "recitation" => Ending::Stopped("RECITATION"),
        "language" => Ending::Stopped("LANGUAGE"),
        "blocklist" => Ending::Stopped("BLOCKLIST"),
        "prohibitedcontent" => Ending::Stopped("PROHIBITED_CONTENT"),
        "spii" => Ending::Stopped("SPII"),
        "malformedfunctioncall" | "malformedtooluse" => Ending::Stopped("MALFORMED_FUNCTION_CALL"),
        "malformedresponse" | "malformedmodeloutput" => Ending::Stopped("MALFORMED_RESPONSE"),
        "missingthoughtsignature" => Ending::Stopped("MISSING_THOUGHT_SIGNATURE"),
        "unexpectedtoolcall" => Ending::Stopped("UNEXPECTED_TOOL_CALL"),
        "toomanytoolcalls" => Ending::Stopped("TOO_MANY_TOOL_CALLS"),
        "imagesafety" => Ending::Stopped("IMAGE_SAFETY"),
        "imageprohibitedcontent" => Ending::Stopped("IMAGE_PROHIBITED_CONTENT"),
        "imagerecitation" => Ending::Stopped("IMAGE_RECITATION"),
        "imageother" => Ending::Stopped("IMAGE_OTHER"),
        "noimage" => Ending::Stopped("NO_IMAGE"),
        _ => return None,
    })
}

/// Parts of words that mean a failure.
const FAILURES: [&str; 16] = [
    "error",
    "abort",
    "fail",
    "timeout",
    "timedout",
    "cancel",
    "insufficient",
    "unavailable",
    "overload",
    "exception",
    "interrupt",
    "disconnect",
    "evict",
    "preempt",
    "ratelimit",
    "unload",
];

/// Parts of words that mean a filter or a refusal.
const FILTERS: [&str; 14] = [
    "filter",
    "safety",
    "unsafe",
    "moderat",
    "policy",
    "violat",
    "flagged",
    "sensitive",
    "blocked",
    "refus",
    "guardrail",
    "prohibited",
    "toxic",
    "censor",
];

/// Parts of words that mean a limit.
const LIMITS: [&str; 14] = [
    "maxtoken",
    "maximumtoken",
    "maxoutput",
    "newtokens",
    "completiontokens",
    "length",
    "tokenlimit",
    "tokenbudget",
    "tokensreached",
    "tokensexceeded",
    "contextwindow",
    "contextoverflow",
    "contextexceeded",
    "truncated",
];

#[cfg(test)]
mod tests {
    use pleach_core::{Content, FunctionCall, Map, Part};
    use serde_json::json;

    use super::*;

    fn check(word: &str, expected: Ending) {
        assert_eq!(Finish::read(Some(&json!(word))).unwrap().ending, expected, "{word}");
    }

    #[test]
    fn l235_words_count_in_any_spelling() {
        for word in
            ["stop", "STOP", "tool_calls", "TOOL-CALLS", "toolCalls", "tool calls", "eos_token", "end_turn", "COMPLETE"]
        {
            check(word, Ending::Whole);
        }
        for word in [
            "length",
            "max_tokens",
            "MAX_TOKENS",
            "max-tokens",
            "MaxTokens",
            "model_length",
            "model_context_window_exceeded",
            "ERROR_LIMIT",
            "maxPredictedTokensReached",
            "contextLengthReached",
            "max_output_tokens",
            "max_new_tokens",
            "max_completion_tokens",
            "maximum_tokens",
            "token_budget_exceeded",
            "context_overflow",
            "limit",
        ] {
            check(word, Ending::Stopped("MAX_TOKENS"));
        }
        for word in [
            "content_filter",
            "content-filter",
            "refusal",
            "SAFETY",
            "sensitive",
            "guardrail_intervened",
            "content_policy_violation",
            "content_moderated",
            "flagged",
            "unsafe",
            "ERROR_TOXIC",
        ] {
            check(word, Ending::Stopped("SAFETY"));
        }
        check("prohibited_content", Ending::Stopped("PROHIBITED_CONTENT"));
        for word in [
            "error",
            "ERROR",
            "abort",
            "aborted",
            "network_error",
            "network-error",
            "insufficient_system_resource",
            "timeout",
            "upstream_failure",
            "cancelled",
            "modelUnloaded",
            "internalServerError",
        ] {
            check(word, Ending::Failed);
        }
        for word in ["what", "new_reason", "OTHER", "FINISH_REASON_UNSPECIFIED", "done", "終了"] {
            check(word, Ending::Unknown);
        }
    }

    #[test]
    fn no_word_is_no_end() {
        for value in [json!(null), json!(""), json!("null"), json!("None"), json!({}), json!(3)] {
            assert_eq!(Finish::read(Some(&value)), None, "{value}");
        }
        assert_eq!(Finish::read(None), None);
        assert_eq!(Finish::read(Some(&json!({"type": "stop", "matched": 2}))).unwrap().ending, Ending::Whole);
    }

    fn concluded(word: &str, parts: Vec<Part>, malformed: Option<&str>) -> Result<LlmResponse, ModelError> {
        let mut response = LlmResponse::of(Content::new("model", parts));
        let finish = Finish::read(Some(&json!(word))).unwrap();
        finish.conclude("m", &mut response, malformed.map(str::to_owned))?;
        Ok(response)
    }

    fn call() -> Part {
        Part::function_call(FunctionCall::new("c1", "f", Map::new()))
    }

    #[test]
    fn an_unknown_word_ends_an_answer_that_has_something_in_it() {
        for parts in [vec![Part::text("Su")], vec![call()], vec![Part::bytes("image/png", vec![1])]] {
            let response = concluded("what", parts.clone(), None).unwrap();
            assert_eq!((&response.error_code, response.info.finish_reason.as_deref()), (&None, Some("STOP")));
            assert_eq!(response.content.unwrap().parts(), parts);
        }
        let thought = Part { thought: Some(true), ..Part::text("hm") };
        for parts in [vec![], vec![Part::text(" ")], vec![thought]] {
            let response = concluded("what\nnow", parts, None).unwrap();
            assert_eq!(response.error_code.as_deref(), Some("OTHER"));
            assert!(response.error_message.unwrap().contains("`what now`"));
        }
    }

    #[test]
    fn a_stopped_answer_keeps_its_text_and_no_call() {
        for (word, malformed, code) in [
            ("length", None, "MAX_TOKENS"),
            ("stop", Some("f"), "MALFORMED_FUNCTION_CALL"),
            ("what", Some("f"), "MALFORMED_FUNCTION_CALL"),
            ("length", Some("f"), "MAX_TOKENS"),
        ] {
            let response = concluded(word, vec![Part::text("Su"), call()], malformed).unwrap();
            assert_eq!(response.content.as_ref().unwrap().parts(), [Part::text("Su")]);
            assert_eq!(
                (response.error_code.as_deref(), response.info.finish_reason.as_deref()),
                (Some(code), Some(code))
            );
        }
    }

    #[test]
    fn a_word_of_failure_is_an_error_that_names_it() {
        let error = concluded("network_error", vec![call()], None).unwrap_err();
        assert!(error.is_transient() && error.kind() == ModelErrorKind::Unavailable);
        assert_eq!((error.code(), error.status()), ("network_error", None));
    }

    #[cfg(feature = "openai")]
    #[test]
    fn the_worse_of_two_words_counts() {
        let read = |word: &str| Finish::read(Some(&json!(word)));
        for (word, other, expected) in [
            ("stop", "network_error", "network_error"),
            ("stop", "MAX_TOKENS", "MAX_TOKENS"),
            ("error", "MALFORMED_FUNCTION_CALL", "error"),
            ("stop", "whatever", "stop"),
            ("whatever", "completed", "whatever"),
            ("length", "stop", "length"),
        ] {
            assert_eq!(read(word).unwrap().or_worse(read(other)).word, expected, "{word} {other}");
        }
    }
}
