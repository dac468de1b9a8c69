//! [`Payload`]: the body of a request, read within the limits of the server.

use axum::extract::Request;
use bytes::BytesMut;
use futures_util::StreamExt as _;
use http::{HeaderMap, StatusCode, header};
use pleach_core::{Clock, SessionKey};
use serde_json::{Value, json};

use super::census::{self, Lists};
use super::problem::{Problem, Step};
use crate::ServerLimits;
use crate::error::ApiError;

/// The body of a request.
#[derive(Debug)]
pub(crate) enum Payload {
    /// The request has no body.
    Absent,
    Json(Value),
    /// A body that is not marked as JSON.
    Other(String),
}

impl Payload {
    /// Reads a body.
    ///
    /// # Errors
    /// 413 for a body that is too large; 408 for a body that is too late; 422 for malformed JSON and for too many
    /// values, events or parts; 400 for a body that is not UTF-8 or is nested too deep.
    ///
    /// # Cancel safety
    /// Dropping the future drops the body.
    pub(crate) async fn read(
        request: Request,
        lists: Lists,
        limits: &ServerLimits,
        clock: &dyn Clock,
    ) -> Result<Self, ApiError> {
        let is_json = is_json(request.headers());
        let late = clock.sleep(limits.request_time);
        let bytes = tokio::select! {
            bytes = collect(request, limits.body_bytes) => bytes?,
            () = late => return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "The body did not arrive in time.")),
        };
        if bytes.is_empty() {
            return Ok(Self::Absent);
        }
        let Ok(text) = std::str::from_utf8(&bytes) else { return Err(unreadable("it is not UTF-8")) };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if is_json { parse(text, lists, limits).map(Self::Json) } else { Ok(Self::Other(text.to_owned())) }
    }
}

impl Payload {
    /// Returns the session that a request for a run names; `None` if a name is missing or is not a string.
    pub(crate) fn session(&self, default_app: Option<&str>) -> Option<SessionKey> {
        let Self::Json(body) = self else { return None };
        let text = |camel: &str, snake: &str| body.get(camel).or_else(|| body.get(snake))?.as_str();
        let app = text("appName", "app_name").filter(|name| !name.is_empty()).or(default_app)?;
        Some(SessionKey::new(app, text("userId", "user_id")?, text("sessionId", "session_id")?))
    }
}

fn unreadable(why: &str) -> ApiError {
    ApiError::bad_request(format!("There was an error parsing the body: {why}."))
}

async fn collect(request: Request, limit: usize) -> Result<BytesMut, ApiError> {
    let too_large = || {
        let detail = format!("The body is too large: at most {limit} bytes are accepted.");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    };
    if declared_length(request.headers()).is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let mut bytes = BytesMut::new();
    let mut chunks = request.into_body().into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| ApiError::bad_request("The body was cut off."))?;
        if bytes.len() + chunk.len() > limit {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

pub(crate) fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Returns true if the content type is JSON or has a `+json` suffix.
// H6
fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()) else { return false };
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let Some(kind) = kind.strip_prefix("application/") else { return false };
    kind == "json" || kind.ends_with("+json")
}

fn parse(text: &str, lists: Lists, limits: &ServerLimits) -> Result<Value, ApiError> {
    census::check(text, lists, limits)?;
    serde_json::from_str(text).map_err(|error| {
        let place = vec![Step::name("body"), Step::Index(offset(text, &error))];
        ApiError::Invalid(vec![Problem::new("json_invalid", place, "JSON decode error").with_input(&json!({}))])
    })
}

/// Returns the number of characters before the fault.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    if error.is_eof() {
        return text.chars().count();
    }
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let before: usize = lines.map(str::len).sum();
    let column = error.column().saturating_sub(1);
    let end = (before + column).min(text.len());
    text.char_indices().take_while(|(place, _)| *place < end).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Value, ApiError> {
        super::parse(text, Lists::None, &ServerLimits::new())
    }

    #[test]
    fn h5_malformed_json_is_named_with_its_place() {
        for (text, place) in [("{bad", 1), ("{\"a\":\n }", 7), ("{\"a\":1", 6), ("[\"ü\", x]", 6), ("", 0)] {
            let Err(ApiError::Invalid(problems)) = parse(text) else { panic!("{text} is read") };
            let problem = problems[0].to_json();
            assert_eq!(
                (&problem["type"], &problem["loc"]),
                (&json!("json_invalid"), &json!(["body", place])),
                "{text}"
            );
        }
    }

    #[test]
    fn h5_deep_json_is_refused_and_not_followed() {
        let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(&deep(127)).is_ok());
        for levels in [128, 100_000] {
            assert!(matches!(parse(&deep(levels)), Err(ApiError::Detail(StatusCode::BAD_REQUEST, _))), "{levels}");
        }
    }

    #[test]
    fn h6_the_content_type_marks_json() {
        for (kind, json) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/vnd.x+json", true),
            ("text/plain", false),
            ("text/json", false),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, kind.parse().unwrap())]);
            assert_eq!(is_json(&headers), json, "{kind}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
