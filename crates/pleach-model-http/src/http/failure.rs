//! What providers say when a call fails.

use std::time::Duration;

use pleach_model::{ModelError, ModelErrorKind};
use serde_json::Value;

/// How much of the provider's name of a failure is kept, in characters.
const LONGEST_NAME: usize = 64;

/// What a provider says of a failed call, whatever its format.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Failure {
    /// The status in the body.
    status: Option<u16>,
    /// The provider's name of the failure.
    name: Option<String>,
    message: Option<String>,
    retry_after: Option<Duration>,
}

impl Failure {
    /// Reads the body of an error; `None` when it has none.
    ///
    /// Known shapes: `{"error": {"message", "code", "status", "type"}}` alone or in an array, `{"error": "text"}`,
    /// `{"object": "error", "message"}` and `{"detail": "text"}`.
    pub(crate) fn read(body: &Value) -> Option<Self> {
        let body = match body {
            Value::Array(items) => items.first()?,
            body => body,
        };
        let object = match body.get("error") {
            Some(Value::String(text)) if !text.is_empty() => {
                return Some(Self { message: Some(text.clone()), ..Self::default() });
            }
            // Some servers have the member in every answer.
            Some(Value::Object(error)) if !error.is_empty() => body.get("error"),
            _ => None,
        };
        let bare = || (body.get("object").and_then(Value::as_str) == Some("error")).then_some(body);
        let Some(error) = object.or_else(bare) else {
            let message = body.get("detail")?.as_str()?.to_owned();
            return Some(Self { message: Some(message), ..Self::default() });
        };
        let text = |key: &str| error.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let code = error.get("code");
        let status = code.and_then(Value::as_u64).or_else(|| text("code")?.parse().ok());
        let status = status.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
        let code = text("code").filter(|code| code.parse::<u16>().is_err());
        let name = text("status").or(code).or(text("type")).map(str::to_owned);
        let retry_after = error.get("details").and_then(Value::as_array).into_iter().flatten().find_map(retry_delay);
        Some(Self { status, name, message: text("message").map(str::to_owned), retry_after })
    }

    /// Makes an error of it. Without a status of the response, that of the body counts, or what its name means.
    pub(crate) fn into_error(self, model: &str, status: Option<u16>, hide: impl Fn(&str) -> String) -> ModelError {
        let status = status.or(self.status).or_else(|| self.name.as_deref().and_then(meant));
        let mut error = match status {
            Some(status) => ModelError::from_status(model, status),
            None => ModelError::new(model, ModelErrorKind::Other),
        };
        if let Some(name) = self.name {
            error = error.with_status_text(shortened(&hide(&name)));
        }
        if let Some(message) = self.message {
            error = error.with_message(hide(&message));
        }
        match self.retry_after {
            Some(wait) => error.with_retry_after(wait),
            None => error,
        }
    }
}

/// A name on one line; a longer one is no name.
fn shortened(name: &str) -> String {
    let line = name.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The wait that Gemini asks for: `{"@type": "…RetryInfo", "retryDelay": "7s"}`.
fn retry_delay(detail: &Value) -> Option<Duration> {
    let seconds = detail.get("retryDelay")?.as_str()?.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The status that a name of a failure means.
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
            let error = Failure::read(&body).unwrap().into_error("model", None, str::to_owned);
            assert_eq!((error.status(), error.code()), (Some(status), name), "{body}");
            assert!(error.to_string().contains(&format!(": {message};")), "{error}");
        }
        for body in [json!({"error": "m"}), json!({"detail": "m"})] {
            assert_eq!(Failure::read(&body).unwrap().message.as_deref(), Some("m"));
        }
        for body in [
            json!({"choices": []}),
            json!({"error": null}),
            json!({"error": ""}),
            json!({"error": {}}),
            json!(3),
            json!([]),
        ] {
            assert_eq!(Failure::read(&body), None);
        }
    }

    #[test]
    fn l215_gemini_says_how_long_to_wait() {
        let info = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"});
        let body = json!({"error": {"code": 429, "status": "X", "details": [{"@type": "other"}, info]}});
        let error = Failure::read(&body).unwrap().into_error("m", None, str::to_owned);
        assert_eq!(error.retry_after(), Some(Duration::from_millis(7_500)));
    }
}
