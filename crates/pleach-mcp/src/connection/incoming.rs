//! [`Incoming`]: a message of a server, read from raw JSON, so that one invalid member does not make the whole message
//! unreadable.
//!
//! This module decides which request a message answers. It neither counts nor keeps messages.

use pleach_core::Map;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde_json::Value;

use super::scan;

/// A message of a server.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// The end of a waiting request.
    Answer {
        id: i64,
        answer: Answer,
    },
    /// A request to the client.
    Request {
        id: RequestId,
        method: String,
    },
    Notice(Notice),
}

/// The end of a request.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    Result(Value),
    Refused { code: i32, message: String },
    Unusable(Unusable),
}

/// A message that is not an answer and needs no answer.
#[derive(Debug, PartialEq)]
pub(super) enum Notice {
    ToolsChanged,
    Progress { token: i64, report: Report },
    Other,
}

/// A report of progress.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) progress: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// The reason why an answer cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Unusable {
    /// The answer is not JSON.
    Unreadable { start: String },
    /// The answer has begun, but its end never came.
    Cut { start: String },
    /// The answer has neither a result nor an error.
    Empty,
}

/// The reason why a text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    Unreadable,
    Cut,
}

/// The origin of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Origin {
    /// The body of the response to this request, which is one message.
    Body(i64),
    /// The stream that is the response to this request.
    Stream(i64),
    /// The output of a child, or the general stream.
    Channel,
}

/// The requests that wait for an answer.
pub(super) trait Waiting {
    fn waits(&self, id: i64) -> bool;
    /// Returns the request that waits, if there is only one.
    fn only(&self) -> Option<i64>;
}

/// Reads a message, or each message of a batch.
pub(super) fn read(value: Value, origin: Origin, waiting: &impl Waiting) -> Vec<Incoming> {
    match value {
        Value::Array(batch) => {
            let named = |message: &Value| message.get("id").and_then(number);
            // If one message of a body answers its request by id, the other messages answer other requests.
            let has_own = batch.iter().any(|message| named(message).is_some() && named(message) == origin.request());
            let origin_of = |message: &Value| match named(message) {
                id if has_own && id != origin.request() => Origin::Channel,
                _ => origin,
            };
            batch.into_iter().filter_map(|message| read_one(origin_of(&message), message, waiting)).collect()
        }
        message => read_one(origin, message, waiting).into_iter().collect(),
    }
}

/// Returns failures of the requests that an unreadable text was meant to answer.
pub(super) fn read_broken(text: &[u8], fault: Fault, origin: Origin, waiting: &impl Waiting) -> Vec<Incoming> {
    let found = scan::message(text);
    let ids = match origin {
        Origin::Body(id) => vec![id],
        Origin::Stream(id) if found.is_answer() => vec![id],
        Origin::Channel if found.is_answer() && !found.ids.is_empty() => found.ids,
        Origin::Channel if found.is_answer() => {
            let inner = found.inner_ids.iter().copied().find(|id| waiting.waits(*id));
            inner.or_else(|| waiting.only()).into_iter().collect()
        }
        Origin::Stream(_) | Origin::Channel => Vec::new(),
    };
    let waiting_ids = ids.into_iter().filter(|id| waiting.waits(*id));
    waiting_ids.map(|id| Incoming::Answer { id, answer: Answer::Unusable(fault.of(text)) }).collect()
}

/// Returns true if a message in a log line may repeat a message of the client. It may if it is a request that servers
/// do not send, or if it has the id of a waiting request.
pub(super) fn may_be_of_client(message: &Incoming, waiting: &impl Waiting) -> bool {
    let Incoming::Request { id, method } = message else { return false };
    let is_of_server =
        ["ping", "roots/list", "sampling/createMessage", "elicitation/create"].contains(&method.as_str());
    !is_of_server || matches!(id, RequestId::Number(id) if waiting.waits(*id))
}

fn read_one(origin: Origin, value: Value, waiting: &impl Waiting) -> Option<Incoming> {
    let Value::Object(mut message) = value else { return None };
    let ends = ["result", "error"].iter().any(|key| message.get(*key).is_some_and(|value| !value.is_null()));
    match message.remove("method") {
        Some(Value::String(method)) if !ends => read_unasked(method, &mut message),
        _ => read_answer(message, origin, waiting),
    }
}

fn read_unasked(method: String, message: &mut Map) -> Option<Incoming> {
    match message.remove("id") {
        None | Some(Value::Null) => {}
        Some(Value::String(id)) => return Some(Incoming::Request { id: RequestId::String(id.into()), method }),
        Some(id) => {
            // The answer could not repeat an id that is a fraction or an object.
            let id = number(&id)?;
            return Some(Incoming::Request { id: RequestId::Number(id), method });
        }
    }
    Some(Incoming::Notice(match method.as_str() {
        "notifications/tools/list_changed" => Notice::ToolsChanged,
        "notifications/progress" => progress(message.get("params")).unwrap_or(Notice::Other),
        _ => Notice::Other,
    }))
}

fn progress(params: Option<&Value>) -> Option<Notice> {
    let params = params?.as_object()?;
    let report = Report {
        progress: float(params.get("progress")?)?,
        total: params.get("total").and_then(float),
        message: params.get("message").and_then(Value::as_str).map(str::to_owned),
    };
    Some(Notice::Progress { token: number(params.get("progressToken")?)?, report })
}

fn read_answer(mut message: Map, origin: Origin, waiting: &impl Waiting) -> Option<Incoming> {
    let says_something = message.contains_key("result") || message.contains_key("error");
    let id = match (origin, message.get("id").and_then(number)) {
        (Origin::Body(id), _) => id,
        // A stream may contain other objects to keep the connection open, and the output of a child may contain objects
        // of a log.
        (Origin::Stream(id), _) if says_something || message.contains_key("jsonrpc") => id,
        (Origin::Channel, Some(id)) if says_something || message.contains_key("jsonrpc") => id,
        (Origin::Channel, None) if says_something && message.get("id").is_none_or(Value::is_null) => waiting.only()?,
        (Origin::Stream(_) | Origin::Channel, _) => return None,
    };
    if !waiting.waits(id) {
        return None;
    }
    let answer = match (message.remove("error"), message.remove("result")) {
        (Some(error), _) if !error.is_null() => refused(&error),
        (_, Some(result)) => Answer::Result(result),
        _ => Answer::Unusable(Unusable::Empty),
    };
    Some(Incoming::Answer { id, answer })
}

/// The code for an error without a code.
const INTERNAL_ERROR: i32 = -32603;

fn refused(error: &Value) -> Answer {
    let code = error.get("code").and_then(number).and_then(|code| i32::try_from(code).ok());
    let message = match error.get("message").unwrap_or(error) {
        Value::String(message) => message.clone(),
        other => other.to_string(),
    };
    Answer::Refused { code: code.unwrap_or(INTERNAL_ERROR), message }
}

/// Returns an integer, which may be written as a string or with a fraction of zero.
pub(super) fn number(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_i64().or_else(|| {
            let float = value.as_f64()?;
            // Ids of requests count up from zero, and integers below 2^53 are exact.
            (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
        }),
    }
}

/// Returns a number, which may be written as a string.
fn float(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok().filter(|float: &f64| float.is_finite()),
        value => value.as_f64(),
    }
}

impl Origin {
    /// Returns the request that the response belongs to.
    fn request(self) -> Option<i64> {
        match self {
            Self::Body(id) | Self::Stream(id) => Some(id),
            Self::Channel => None,
        }
    }
}

/// The maximum number of bytes of an unreadable message that are kept. This is more than what is shown, so that a
/// secret is found and hidden before the message is cut.
const KEPT: usize = 4 << 10;

impl Fault {
    fn of(self, text: &[u8]) -> Unusable {
        let start = String::from_utf8_lossy(&text[..text.len().min(KEPT)]);
        let start = start.split(char::is_control).map(str::trim).collect::<Vec<_>>().join(" ");
        match self {
            Self::Unreadable => Unusable::Unreadable { start },
            Self::Cut => Unusable::Cut { start },
        }
    }
}

impl Unusable {
    pub(super) fn reason(&self, id: i64) -> String {
        match self {
            Self::Unreadable { start } => {
                format!("answered with a message that cannot be read (request {id}): {start}")
            }
            Self::Cut { start } => format!("began a message and did not end it (request {id}): {start}"),
            Self::Empty => "answered with neither a result nor an error".to_owned(),
        }
    }

    /// Returns an error for rmcp. Its data marks it, because the data of servers' errors is dropped.
    pub(super) fn mark(&self, id: i64) -> ErrorData {
        ErrorData::new(ErrorCode::INTERNAL_ERROR, self.reason(id), Some(Value::Null))
    }

    /// Returns the reason in an error from [`mark`](Self::mark); `None` for an error of a server.
    pub(super) fn of(error: &ErrorData) -> Option<&str> {
        error.data.as_ref().map(|_| error.message.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A state in which the requests 3 and 4 wait.
    struct Two;

    impl Waiting for Two {
        fn waits(&self, id: i64) -> bool {
            id == 3 || id == 4
        }
        fn only(&self) -> Option<i64> {
            None
        }
    }

    /// A state in which only the request 3 waits.
    struct One;

    impl Waiting for One {
        fn waits(&self, id: i64) -> bool {
            id == 3
        }
        fn only(&self) -> Option<i64> {
            Some(3)
        }
    }

    fn answer(id: i64, answer: Answer) -> Vec<Incoming> {
        vec![Incoming::Answer { id, answer }]
    }

    #[test]
    fn an_answer_on_a_channel_belongs_to_the_request_of_its_id() {
        for id in [json!(3), json!("3"), json!(3.0), json!(" 3 ")] {
            let read = read(json!({"jsonrpc": "2.0", "id": id, "result": {}}), Origin::Channel, &Two);
            assert_eq!(read, answer(3, Answer::Result(json!({}))), "{id}");
        }
        for id in [json!(7), json!("x"), json!(3.5), json!({}), json!(null)] {
            assert_eq!(read(json!({"id": id, "result": {}}), Origin::Channel, &Two), [], "{id}");
        }
    }

    #[test]
    fn an_answer_without_an_id_belongs_to_the_only_request() {
        let refused = Answer::Refused { code: -32700, message: "parse error".to_owned() };
        let error = json!({"id": null, "error": {"code": "-32700", "message": "parse error"}});
        assert_eq!(read(error, Origin::Channel, &One), answer(3, refused));
        // Objects of a log are not answers.
        assert_eq!(read(json!({"level": "info", "id": null}), Origin::Channel, &One), []);
        assert_eq!(read(json!({}), Origin::Channel, &One), []);
        assert_eq!(read(json!({"id": 3, "level": "info"}), Origin::Channel, &One), []);
    }

    #[test]
    fn the_answer_of_a_body_belongs_to_its_request_whatever_its_id() {
        for id in [json!(4), json!("9"), json!(null), json!([1])] {
            for origin in [Origin::Body(3), Origin::Stream(3)] {
                let read = read(json!({"id": id, "result": 1}), origin, &Two);
                assert_eq!(read, answer(3, Answer::Result(json!(1))), "{id}");
            }
        }
        assert_eq!(read(json!({}), Origin::Body(3), &Two), answer(3, Answer::Unusable(Unusable::Empty)));
        assert_eq!(read(json!({}), Origin::Stream(3), &Two), [], "it keeps the stream open");
        assert_eq!(read(json!({"result": 1}), Origin::Body(9), &Two), [], "it was answered or given up");
    }

    #[test]
    fn errors_have_a_code_and_a_message_in_any_shape() {
        for (error, code, message) in [
            (json!({"code": -1, "message": "m"}), -1, "m"),
            (json!({"code": null, "message": "m", "data": {}}), INTERNAL_ERROR, "m"),
            (json!("out of paper"), INTERNAL_ERROR, "out of paper"),
            (json!({"code": 9e99, "message": {"en": "m"}}), INTERNAL_ERROR, r#"{"en":"m"}"#),
            (json!({"reason": 7}), INTERNAL_ERROR, r#"{"reason":7}"#),
        ] {
            let read = read(json!({"id": 3, "result": null, "error": error}), Origin::Channel, &Two);
            assert_eq!(read, answer(3, Answer::Refused { code, message: message.to_owned() }));
        }
        let read = read(json!({"id": 3, "result": [], "error": null}), Origin::Channel, &Two);
        assert_eq!(read, answer(3, Answer::Result(json!([]))));
    }

    #[test]
    fn each_message_of_a_batch_is_read() {
        let batch = json!([{"id": 3, "result": 1}, 7, {"method": "ping", "id": "p"}, {"id": 4, "error": "no"}]);
        let read = read(batch, Origin::Channel, &Two);
        let ping = Incoming::Request { id: RequestId::String("p".into()), method: "ping".to_owned() };
        assert_eq!(read.len(), 3);
        assert_eq!(read[1], ping);
    }

    #[test]
    fn a_batch_in_a_body_that_names_its_request_answers_no_other_with_it() {
        let result = |id: Value, text: &str| json!({"jsonrpc": "2.0", "id": id, "result": text});
        for origin in [Origin::Body(3), Origin::Stream(3)] {
            for own in [json!(3), json!("3"), json!(3.0)] {
                let batch = json!([result(json!(99), "other"), result(json!(4), "four"), result(own, "own")]);
                let mut read = read(batch, origin, &Two);
                assert_eq!(read.pop(), answer(3, Answer::Result(json!("own"))).pop());
                assert_eq!(read, answer(4, Answer::Result(json!("four"))));
            }
            let unnamed = json!([{"jsonrpc": "2.0", "method": "ping"}, result(json!(99), "own")]);
            assert_eq!(read(unnamed, origin, &Two).pop(), answer(3, Answer::Result(json!("own"))).pop());
        }
    }

    #[test]
    fn an_unreadable_batch_ends_each_of_its_requests() {
        let text = "[{'jsonrpc': '2.0', 'id': 3, 'result': {}},\n {'jsonrpc': '2.0', 'id': 4, 'result': {}}]";
        let read = read_broken(text.as_bytes(), Fault::Cut, Origin::Channel, &Two);
        let cut = |id| Incoming::Answer { id, answer: Answer::Unusable(Fault::Cut.of(text.as_bytes())) };
        assert_eq!(read, [cut(3), cut(4)]);
        let reason = Fault::Unreadable.of(text.as_bytes()).reason(3);
        let expected = "answered with a message that cannot be read (request 3): [{'jsonrpc': '2.0', 'id': 3,";
        assert!(reason.starts_with(expected), "{reason}");
    }

    #[test]
    fn a_log_may_repeat_the_requests_of_the_client() {
        for (id, method, expected) in [
            (json!("p"), "ping", false),
            (json!(9), "ping", false),
            (json!(3), "ping", true),
            (json!(9), "tools/call", true),
            (json!(null), "notifications/tools/list_changed", false),
        ] {
            let message = read(json!({"id": id, "method": method}), Origin::Channel, &Two).pop().unwrap();
            assert_eq!(may_be_of_client(&message, &Two), expected, "{id} {method}");
        }
    }

    #[test]
    fn notices_are_read_with_odd_members() {
        let notice = |value| match read(value, Origin::Channel, &Two).pop() {
            Some(Incoming::Notice(notice)) => notice,
            other => panic!("{other:?}"),
        };
        let changed = json!({"method": "notifications/tools/list_changed", "params": [1]});
        assert_eq!(notice(changed), Notice::ToolsChanged);
        let params = json!({"progressToken": "5", "progress": "1.5", "total": {}, "message": 7});
        let report = Report { progress: 1.5, total: None, message: None };
        let progress = json!({"method": "notifications/progress", "params": params});
        assert_eq!(notice(progress), Notice::Progress { token: 5, report });
        assert_eq!(notice(json!({"method": "notifications/progress", "params": "x"})), Notice::Other);
        assert_eq!(read(json!({"method": "ping", "id": 1.5}), Origin::Channel, &Two), []);
    }

    #[test]
    fn unreadable_text_ends_the_request_it_names() {
        let ended = |text: &str, origin, two: bool| {
            let read = if two {
                read_broken(text.as_bytes(), Fault::Unreadable, origin, &Two)
            } else {
                read_broken(text.as_bytes(), Fault::Unreadable, origin, &One)
            };
            assert!(read.len() < 2, "{read:?}");
            read.into_iter().next().map(|read| match read {
                Incoming::Answer { id, .. } => id,
                other => panic!("{other:?}"),
            })
        };
        let broken = r#"{"jsonrpc":"2.0","id":4,"result":{"content":[{"id":3}"#;
        assert_eq!(ended(broken, Origin::Channel, true), Some(4));
        assert_eq!(ended(r#"{"jsonrpc":"2.0","result":{"a":b},"id":"3"}"#, Origin::Channel, true), Some(3));
        assert_eq!(ended(r#"{"jsonrpc":"2.0","result":{"a"#, Origin::Channel, true), None);
        assert_eq!(ended(r#"{"jsonrpc":"2.0","id":78,"result":{"a"#, Origin::Channel, false), None);
        assert_eq!(ended(r#"{"jsonrpc":"2.0","result":{"a"#, Origin::Channel, false), Some(3));
        assert_eq!(ended(r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"a"#, Origin::Channel, false), None);
        assert_eq!(ended(r#"{"level":"info","message":"#, Origin::Channel, false), None);
        assert_eq!(ended("<html>", Origin::Body(3), true), Some(3));
        assert_eq!(ended("{'jsonrpc': '2.0', 'id': 4, 'result': {}}", Origin::Channel, true), Some(4));
        assert_eq!(ended("{'id': 4, 'result': {}}", Origin::Channel, true), None, "the text of a log");
        assert_eq!(ended("keep-alive", Origin::Stream(3), true), None);
        assert_eq!(ended(r#"{"jsonrpc":"2.0","id":99,"result":x}"#, Origin::Stream(3), true), Some(3));
    }
}
