//! Finds the reason of a failure in a body, for the member names of all known providers.

use serde_json::{Map, Value};

/// The maximum number of entries that are shown of a list of errors.
const MOST_ENTRIES: usize = 5;

/// The maximum depth at which a reason is found in an error.
const DEEPEST: usize = 8;

/// The members with the reason, in lower case without separators.
const MESSAGES: [&str; 8] =
    ["message", "msg", "errormessage", "errormsg", "errordescription", "detail", "statusmsg", "statusmessage"];

/// Further members that may hold a reason. Some of them say little, or occur in other documents as well.
const NOTES: [&str; 7] = ["reason", "title", "description", "error", "errors", "details", "fault"];

/// The members with the status of a failure.
const STATUSES: [&str; 4] = ["code", "status", "statuscode", "httpstatus"];

/// The texts of servers for a path without a route.
const NO_ROUTE: [&str; 8] = [
    "notfound",
    "404notfound",
    "404pagenotfound",
    "pagenotfound",
    "filenotfound",
    "resourcenotfound",
    "norouteforthispath",
    "noroutematchedwiththosevalues",
];

/// Returns true if a member has this name in any spelling: providers write `error_msg`, `errorMsg`, `Error-Msg`.
fn is_named(key: &str, name: &str) -> bool {
    key.bytes().filter(u8::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).eq(name.bytes())
}

/// Returns the member of a name. The exact spelling wins over others.
pub(super) fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let members = value.as_object()?;
    let in_other_spelling = || members.iter().find_map(|(key, member)| is_named(key, name).then_some(member));
    members.get(name).or_else(in_other_spelling)
}

/// Returns true if the value of `error` is an error. Some servers put the member into every answer.
pub(super) fn says_something(error: &Value) -> bool {
    match error {
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => items.iter().any(says_something),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the reason in the members of a body that is not an answer.
pub(super) fn of_members(body: &Value) -> Option<String> {
    in_members(body, &MESSAGES, DEEPEST)
}

/// Returns the reason in a body, in any member that may hold one.
pub(super) fn of_any_member(body: &Value) -> Option<String> {
    of_members(body).or_else(|| in_members(body, &NOTES, DEEPEST)).map(|said| titled(body, said))
}

/// Returns the reason in an error, which may be a text, an object or a list.
pub(super) fn message(error: &Value) -> Option<String> {
    message_to(error, DEEPEST)
}

fn message_to(error: &Value, depth: usize) -> Option<String> {
    match error {
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        Value::Array(items) => {
            let said: Vec<String> =
                items.iter().filter_map(|item| message_to(item, depth.checked_sub(1)?)).take(MOST_ENTRIES).collect();
            (!said.is_empty()).then(|| said.join("; "))
        }
        Value::Object(members) => {
            let said = in_members(error, &MESSAGES, depth).or_else(|| in_members(error, &NOTES, depth))?;
            // OpenRouter passes on the text of its provider.
            let raw = error.pointer("/metadata/raw").and_then(Value::as_str).map(|raw| format!(": {raw}"));
            Some(format!("{}{}{}", place(members), titled(error, said), raw.unwrap_or_default()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn in_members(value: &Value, names: &[&str], depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    names.iter().find_map(|name| message_to(member(value, name)?, depth))
}

/// Returns the place in the request to which an error of FastAPI refers (`loc`).
fn place(members: &Map<String, Value>) -> String {
    let steps = members.get("loc").and_then(Value::as_array);
    steps.map_or_else(String::new, |steps| {
        let step = |step: &Value| step.as_str().map_or_else(|| step.to_string(), str::to_owned);
        format!("{}: ", steps.iter().map(step).collect::<Vec<_>>().join("."))
    })
}

/// Returns a reason with its title (RFC 9457) in front.
fn titled(error: &Value, said: String) -> String {
    match member(error, "title").and_then(Value::as_str).map(str::trim) {
        Some(title) if !title.is_empty() && !said.starts_with(title) => format!("{title}: {said}"),
        _ => said,
    }
}

/// Returns the status of a failure in a body, written as a number or as text.
pub(super) fn status(body: &Value) -> Option<u16> {
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    let numbers = STATUSES.iter().filter_map(|name| number(member(body, name)?));
    numbers.filter_map(|code| u16::try_from(code).ok()).find(|code| (400..600).contains(code))
}

/// Returns true if a body reports success. Such a body may have a message as well.
pub(super) fn says_success(body: &Value) -> bool {
    let is_success = |value: &Value| match value {
        Value::Number(number) => matches!(number.as_u64(), Some(0 | 200)),
        Value::String(text) => ["0", "200", "ok", "success"].iter().any(|word| text.eq_ignore_ascii_case(word)),
        value => *value == Value::Bool(true),
    };
    STATUSES.iter().chain(&["success"]).any(|name| member(body, name).is_some_and(is_success))
}

/// Returns the text of a member, unless it is blank.
pub(super) fn text<'a>(body: &'a Value, name: &str) -> Option<&'a str> {
    member(body, name).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// Returns true if a message only reports that a path does not exist.
pub(super) fn is_of_no_route(message: &str) -> bool {
    let words: String = message.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    NO_ROUTE.contains(&words.as_str())
        || ["cannotpost", "nosuchroute", "invalidurl"].iter().any(|begin| words.starts_with(begin))
}
