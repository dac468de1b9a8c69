//! [`Failure`]: a provider's report of a failed call.

use std::time::Duration;

use pleach_core::read_foreign_json;
use pleach_model::{ModelError, ModelErrorKind};
use serde_json::Value;

use super::reason::{self, is_of_no_route, says_something};
use crate::finish::Finish;
use crate::wire::WRONG_ADDRESS;

/// The maximum number of characters that are kept of the provider's name for a failure.
const LONGEST_NAME: usize = 64;

/// The maximum number of characters that are kept of the provider's message. Errors show fewer.
const LONGEST_MESSAGE: usize = 2_000;

/// A provider's report of a failed call, in any format.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Failure {
    /// The status in the body.
    status: Option<u16>,
    /// The provider's name for the failure.
    name: Option<String>,
    message: Option<String>,
    retry_after: Option<Duration>,
    /// Whether the report is probably not from a model server.
    is_foreign: bool,
    /// Whether the choice with the failure has a finish reason that means failure.
    ends_failed: bool,
}

impl Failure {
    /// Reads the failure in a document that should be an answer, or an event of one; `None` if it is not a failure.
    ///
    /// Known forms are `error` as an object, a text or a list; an `error` inside a choice; a `base_resp` with a status
    /// other than 0; `{"object": "error"}` and `{"type": "error"}`. In documents without an answer, `errors`, `detail`,
    /// `message` and other members that [`reason`] knows are also a failure. A list is a failure if it has a failure as
    /// an entry.
    pub(crate) fn in_answer(body: &Value) -> Option<Self> {
        if let Value::Array(items) = body {
            return items.iter().find_map(Self::in_answer);
        }
        if let Some(error) = reason::member(body, "error").filter(|error| says_something(error)) {
            return Some(Self::of_error(error, body));
        }
        if let Some(failure) = Self::in_base_response(body).or_else(|| Self::in_choice(body)) {
            return Some(failure);
        }
        let is_error = ["object", "type"].iter().any(|key| body.get(*key).and_then(Value::as_str) == Some("error"));
        if is_error {
            return Some(Self::of_error(body, body));
        }
        if has_answer(body) || reason::says_success(body) {
            return None;
        }
        if reason::status(body).is_some() {
            return Self::bare(body).or_else(|| Self::noted(body));
        }
        // An event of an unknown kind may contain anything.
        let is_event = body.get("type").and_then(Value::as_str).is_some();
        Self::bare(body).filter(|_| !is_event)
    }

    /// Reads the failure in a whole document that should be an answer.
    pub(super) fn in_document(document: &Value) -> Option<Self> {
        let is_answer = !document.is_object() || document.get("type").is_some() || has_answer(document);
        // Without a status, the document may be from any server.
        let noted = || Some(Self { is_foreign: true, ..Self::noted(document).filter(|_| !is_answer)? });
        Self::in_answer(document).or_else(noted)
    }

    /// Reads the status that MiniMax puts into every answer. 0 means success.
    fn in_base_response(body: &Value) -> Option<Self> {
        let base = reason::member(body, "baseresp")?;
        let code = reason::member(base, "statuscode")?;
        let code = code.as_i64().or_else(|| code.as_str()?.trim().parse().ok()).filter(|code| *code != 0)?;
        // A retry does not help with other codes.
        let status = match code {
            1001 => Some(504),
            1002 => Some(429),
            1000 | 1013 | 1024 | 1033 => Some(500),
            _ => None,
        };
        Some(Self { status, name: Some(code.to_string()), message: reason::message(base), ..Self::default() })
    }

    /// Reads the error inside a choice.
    fn in_choice(body: &Value) -> Option<Self> {
        let choices = ["choices", "candidates"].iter().filter_map(|key| body.get(*key)?.as_array()).flatten();
        let failure = |choice: &Value| {
            let places = [Some(choice), choice.get("delta"), choice.get("message")];
            let mut errors = places.into_iter().flatten().filter_map(|place| reason::member(place, "error"));
            let error = errors.find(|error| says_something(error))?;
            let finish = ["finish_reason", "finishReason"].iter().find_map(|key| Finish::read(choice.get(*key)));
            let ends_failed = finish.is_some_and(|finish| finish.has_failed());
            Some(Self { ends_failed, ..Self::of_error(error, error) })
        };
        choices.into_iter().find_map(failure)
    }

    /// Reads the body of an error in any format; `None` if it is blank.
    pub(crate) fn in_error(body: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let foreign = |message: String| Self { message: Some(message), is_foreign: true, ..Self::default() };
        if is_page(text) {
            let title = title(text).map(|title| format!(": {title}")).unwrap_or_default();
            return Some(foreign(format!("a page of HTML{title}")));
        }
        match read_foreign_json::<Value>(text.as_bytes()) {
            Ok(body @ (Value::Object(_) | Value::Array(_))) => Some(Self::in_error_json(&body, text)),
            Ok(Value::String(message)) => Some(Self { message: Some(message), ..Self::default() }),
            _ => Some(Self { message: Some(text.to_owned()), ..Self::default() }),
        }
    }

    /// Marks the failure as reported by a model server.
    pub(crate) fn of_a_model(self) -> Self {
        Self { is_foreign: false, ..self }
    }

    fn in_error_json(body: &Value, text: &str) -> Self {
        if let Some(failure) = Self::in_answer(body) {
            return failure;
        }
        let items = body.as_array().map_or(std::slice::from_ref(body), Vec::as_slice);
        let read = items.iter().find_map(Self::bare).or_else(|| items.iter().find_map(Self::noted));
        read.unwrap_or_else(|| Self { message: Some(text.to_owned()), is_foreign: true, ..Self::default() })
    }

    /// Reads a body without `error`: `errors`, `detail`, `message` and the other members with a reason.
    fn bare(body: &Value) -> Option<Self> {
        if let Some(errors) = reason::member(body, "errors").filter(|errors| says_something(errors)) {
            let first = errors.as_array().and_then(|errors| errors.first()).unwrap_or(errors);
            let said = reason::message(errors).unwrap_or_else(|| errors.to_string());
            return Some(Self { message: Some(said), ..Self::of_error(first, body) });
        }
        reason::of_members(body)?;
        Some(Self { message: reason::of_any_member(body), ..Self::of_error(body, body) })
    }

    /// Reads a body whose reason is in a member that other documents have as well.
    fn noted(body: &Value) -> Option<Self> {
        let said = reason::of_any_member(body)?;
        Some(Self { message: Some(said), ..Self::of_error(body, body) })
    }

    /// Reads the value of `error`. The body around it completes missing parts.
    fn of_error(error: &Value, body: &Value) -> Self {
        let status = reason::status(error).or_else(|| reason::status(body));
        let text = |key: &str| reason::text(error, key);
        let is_name = |name: &&str| name.trim().parse::<i64>().is_err();
        let kind = text("type").filter(|kind| !["error", "about:blank"].contains(kind)).or_else(|| text("__type"));
        let name = text("status").filter(is_name).or(text("code").filter(is_name)).or(kind).map(str::to_owned);
        let details = error.get("details").and_then(Value::as_array);
        let retry_after = details.into_iter().flatten().find_map(retry_delay);
        let around = reason::of_members(body).filter(|_| !error.is_object() || reason::message(error).is_none());
        let message = match (reason::message(error), around) {
            (Some(own), Some(around)) if own != around => Some(format!("{own}: {around}")),
            (Some(said), _) | (None, Some(said)) => Some(said),
            // The error has members, but none of a known name.
            (None, None) if name.is_none() => Some(error.to_string()),
            (None, None) => None,
        };
        Self { status, name, message, retry_after, is_foreign: false, ends_failed: false }
    }

    /// Converts the failure to an error. Without `status`, the status in the body is used, or otherwise the status that
    /// the failure's name means.
    pub(crate) fn into_error(self, model: &str, status: Option<u16>, hide: impl Fn(&str) -> String) -> ModelError {
        let status = status.or(self.status).or_else(|| self.name.as_deref().and_then(meant));
        let mut error = match status {
            Some(status) => ModelError::from_status(model, status),
            None if self.ends_failed => ModelError::new(model, ModelErrorKind::Unavailable),
            None => ModelError::new(model, ModelErrorKind::Other),
        };
        // A server that only reports a missing route may not be a model server.
        let is_of_a_model = self.name.is_some() || self.message.as_deref().is_some_and(|said| !is_of_no_route(said));
        error = match (error.kind(), self.is_foreign) {
            (ModelErrorKind::NotFound, false) if is_of_a_model => error.with_advice("check the model's name"),
            (ModelErrorKind::InvalidRequest | ModelErrorKind::Other, true) => error.with_advice(WRONG_ADDRESS),
            _ => error,
        };
        if let Some(name) = self.name {
            error = error.with_status_text(shortened(&hide(&name), LONGEST_NAME));
        }
        if let Some(message) = self.message {
            error = error.with_message(shortened(&hide(&message), LONGEST_MESSAGE));
        }
        match self.retry_after {
            Some(wait) => error.with_retry_after(wait),
            None => error,
        }
    }
}

/// Returns true if a body has a part of an answer.
fn has_answer(body: &Value) -> bool {
    let is_something = |value: &Value| match value {
        Value::Array(items) => !items.is_empty(),
        value => !value.is_null(),
    };
    ["choices", "candidates", "content"].iter().any(|key| body.get(*key).is_some_and(is_something))
}

/// Returns true if a text is a page for people.
pub(super) fn is_page(text: &str) -> bool {
    let begin: String = text.trim_start().chars().take(9).collect::<String>().to_ascii_lowercase();
    begin.starts_with("<!doctype") || begin.starts_with("<html") || begin.starts_with("<head")
}

fn title(page: &str) -> Option<&str> {
    // Lower case of ASCII letters keeps all byte positions.
    let lower = page.to_ascii_lowercase();
    let begin = lower.find("<title>")? + "<title>".len();
    let length = lower[begin..].find("</title>")?;
    Some(page[begin..begin + length].trim()).filter(|title| !title.is_empty())
}

/// Returns the beginning of a text, on one line.
pub(super) fn shortened(text: &str, longest: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Returns the wait that Gemini asks for: `{"@type": "…RetryInfo", "retryDelay": "7s"}`.
fn retry_delay(detail: &Value) -> Option<Duration> {
    let seconds = detail.get("retryDelay")?.as_str()?.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Returns the status that the name of a failure means.
fn meant(name: &str) -> Option<u16> {
    Some(match name {
        "invalid_request_error" | "INVALID_ARGUMENT" | "FAILED_PRECONDITION" => 400,
        "authentication_error" | "invalid_api_key" | "UNAUTHENTICATED" => 401,
        "permission_error" | "PERMISSION_DENIED" => 403,
        "not_found_error" | "model_not_found" | "NOT_FOUND" => 404,
        "request_too_large" | "context_length_exceeded" => 413,
        "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" | "RESOURCE_EXHAUSTED" => 429,
        "api_error" | "server_error" | "internal_server_error" | "INTERNAL" => 500,
        "UNAVAILABLE" => 503,
        "timeout_error" | "DEADLINE_EXCEEDED" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn l215_every_providers_error_is_understood() {
        for (body, status, name, message) in [
            (
                json!({"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}),
                429,
                "RESOURCE_EXHAUSTED",
                "m",
            ),
            (json!([{"error": {"code": 400, "message": "m", "status": "X"}}]), 400, "X", "m"),
            (
                json!({"error": {"message": "m", "type": "t", "code": "rate_limit_exceeded"}}),
                429,
                "rate_limit_exceeded",
                "m",
            ),
            (json!({"error": {"message": "m", "type": "server_error", "code": null}}), 500, "server_error", "m"),
            (
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}),
                529,
                "overloaded_error",
                "m",
            ),
            (
                json!({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}),
                400,
                "BadRequestError",
                "m",
            ),
        ] {
            let error = Failure::in_answer(&body).unwrap().into_error("model", None, str::to_owned);
            assert_eq!((error.status(), error.code()), (Some(status), name), "{body}");
            assert!(error.to_string().contains(&format!(": {message};")), "{error}");
        }
        let list = json!([{"loc": ["body", "messages", 0], "msg": "field required"}, {"msg": "m"}]);
        for (body, message) in [
            (json!({"error": "m"}), "m"),
            (json!({"error": ["m", {"message": "n"}]}), "m; n"),
            (json!({"error": {"foo": 1}}), "{\"foo\":1}"),
            (json!({"error": "Bad Request", "message": "m", "statusCode": 400}), "Bad Request: m"),
            (json!({"detail": "m"}), "m"),
            (json!({"detail": list}), "body.messages.0: field required; m"),
            (json!({"detail": {"error": {"message": "m"}}}), "m"),
            (json!({"message": "m", "code": "ctx"}), "m"),
            (json!({"code": 1302, "msg": "m"}), "m"),
            (json!({"errors": [{"message": "m", "code": 7}], "success": false}), "m"),
            (json!({"errors": ["m"], "message": "x"}), "m"),
            (json!({"type": "error", "message": "m"}), "m"),
            (json!({"choices": [{"delta": {"content": ""}, "error": {"message": "m"}}]}), "m"),
            (json!({"choices": [{"message": {"error": "m"}}]}), "m"),
            (json!({"error": {"message": "m", "metadata": {"raw": "upstream"}}}), "m: upstream"),
        ] {
            for failure in [Failure::in_answer(&body), Failure::in_error(body.to_string().as_bytes())] {
                let failure = failure.unwrap();
                assert_eq!((failure.message.as_deref(), failure.is_foreign), (Some(message), false), "{body}");
            }
        }
        for body in [
            json!({"choices": []}),
            json!({"choices": [{"error": null}], "message": "m", "errors": []}),
            json!({"type": "message_start", "message": {"content": []}}),
            json!({"content": [{"type": "text", "text": "t"}], "detail": "d"}),
            json!({"error": null}),
            json!({"error": ""}),
            json!({"error": {}}),
            json!(3),
            json!([]),
        ] {
            assert_eq!(Failure::in_answer(&body), None, "{body}");
        }
    }

    #[test]
    fn l215_gemini_says_how_long_to_wait() {
        let info = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"});
        let body = json!({"error": {"code": 429, "status": "X", "details": [{"@type": "other"}, info]}});
        let error = Failure::in_answer(&body).unwrap().into_error("m", None, str::to_owned);
        assert_eq!(error.retry_after(), Some(Duration::from_millis(7_500)));
    }

    #[test]
    fn the_reason_in_any_body_is_found_and_shortened() {
        let text = |body: &str, status| {
            let failure = Failure::in_error(body.as_bytes()).unwrap_or_default();
            failure.into_error("m", Some(status), |text| text.replace("hush", "…")).to_string()
        };
        let error = text("prompt is too long: 9999 tokens, hush", 400);
        assert!(error.contains(": prompt is too long: 9999 tokens, …; change the setting"), "{error}");
        let error = text("\"quoted\"", 400);
        assert!(error.contains(": quoted;"), "{error}");
        let error = text("<!DOCTYPE html><head><TITLE> 502 Bad\nGateway</TITLE>", 502);
        assert!(error.contains(": a page of HTML: 502 Bad Gateway; try again later"), "{error}");
        let error = text(&"x".repeat(60_000), 500);
        assert!(error.chars().count() < 450, "{error}");
        // The advice is to check the address only if the answer is not from a model server.
        for (body, status, advice) in [
            ("<html>", 400, WRONG_ADDRESS),
            (r#"{"foo": 1}"#, 422, WRONG_ADDRESS),
            ("<html>", 404, "check the model's name and the base URL"),
            (r#"{"detail": "Not Found"}"#, 404, "check the model's name and the base URL"),
            (r#"{"error": {"message": "no such model", "type": "t"}}"#, 404, "check the model's name"),
            (r#"{"message": "m"}"#, 400, "change the setting, tool or content at fault"),
            (r#"{"foo": 1}"#, 500, "try again later"),
        ] {
            let error = text(body, status);
            assert!(error.ends_with(&format!("; {advice}")), "{error}");
        }
        assert_eq!(Failure::in_error(b" \n"), None);
    }

    #[test]
    fn a_status_is_read_wherever_it_is_written() {
        for body in [
            json!({"error": {"code": 502, "message": "m"}}),
            json!({"error": {"code": "502", "message": "m"}}),
            json!({"error": "m", "status": 502}),
            json!({"errors": [{"message": "m"}], "statusCode": 502}),
            json!({"choices": [{"error": {"code": 502, "message": "m"}}]}),
        ] {
            let error = Failure::in_answer(&body).unwrap().into_error("m", None, str::to_owned);
            assert_eq!((error.status(), error.kind()), (Some(502), ModelErrorKind::Unavailable), "{body}");
        }
    }
}
