//! Formats values as Python prints them, so that the app gives exactly the same answers as the recorded google-adk app.

use pleach::Map;
use serde_json::Value;

/// Returns the entries of an object as Python prints a list of pairs.
pub(crate) fn items(object: &Map) -> String {
    let pairs: Vec<String> = object.iter().map(|(key, value)| format!("({}, {})", text(key), repr(value))).collect();
    format!("[{}]", pairs.join(", "))
}

/// Returns a value as Python's `repr` shows it.
pub(crate) fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(string) => text(string),
        Value::Array(values) => format!("[{}]", values.iter().map(repr).collect::<Vec<_>>().join(", ")),
        Value::Object(object) => {
            let members = object.iter().map(|(key, value)| format!("{}: {}", text(key), repr(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

fn text(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let escaped = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r");
    let escaped = if quote == '\'' { escaped.replace('\'', "\\'") } else { escaped };
    format!("{quote}{escaped}{quote}")
}
