//! The text of a redacted document, which keeps the stored text of values that reading would change.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pleach_core::{Event, mend_json};
use serde_json::Value;

use crate::raw_state::{StoredKey, has_big_integers, items, members};
use crate::stored_json::read_stored;

/// Returns the document of a redacted event, with the stored text of every unchanged value. Returns `None` if the
/// event's own JSON text loses nothing.
///
/// Other programs store values that an event reads differently: integers of more than 64 bits are read as floats,
/// and some text is [repaired when read](mend_json).
///
/// # Errors
/// Fails if `stored` is not the JSON text of an object.
pub fn redacted_document(stored: &str, redacted: &Event) -> serde_json::Result<Option<String>> {
    if !has_big_integers(stored) && matches!(mend_json(stored.as_bytes()), Cow::Borrowed(_)) {
        return Ok(None);
    }
    let mut text = String::with_capacity(stored.len());
    write(stored, &serde_json::to_value(redacted)?, &mut text)?;
    Ok(Some(text))
}

/// Writes a value, with the stored text of the parts that are equal.
fn write(stored: &str, new: &Value, text: &mut String) -> serde_json::Result<()> {
    if read_stored::<Value>(stored)? == *new {
        text.push_str(stored);
        return Ok(());
    }
    match new {
        Value::Object(fields) => write_object(stored, fields, text),
        Value::Array(list) => {
            let stored = items(stored).unwrap_or_default();
            text.push('[');
            for (place, value) in list.iter().enumerate() {
                text.push_str(if place == 0 { "" } else { "," });
                write_field(stored.get(place).copied(), value, text)?;
            }
            text.push(']');
            Ok(())
        }
        new => {
            text.push_str(&serde_json::to_string(new)?);
            Ok(())
        }
    }
}

fn write_object(stored: &str, fields: &pleach_core::Map, text: &mut String) -> serde_json::Result<()> {
    let stored = members(stored).unwrap_or_default();
    let stored: BTreeMap<String, (&str, &str)> =
        stored.iter().map(|member| (StoredKey::of(member.key).shown(), (member.key, member.value))).collect();
    text.push('{');
    for (place, (name, value)) in fields.iter().enumerate() {
        text.push_str(if place == 0 { "" } else { "," });
        let known = stored.get(name);
        match known {
            Some((key, _)) => text.push_str(key),
            None => text.push_str(&serde_json::to_string(name)?),
        }
        text.push(':');
        write_field(known.map(|(_, value)| *value), value, text)?;
    }
    text.push('}');
    Ok(())
}

fn write_field(stored: Option<&str>, new: &Value, text: &mut String) -> serde_json::Result<()> {
    match stored {
        Some(stored) => write(stored, new, text),
        None => {
            text.push_str(&serde_json::to_string(new)?);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_not_redacted_keep_their_text() {
        let big = "123456789012345678901234567890";
        let stored = format!(
            r#"{{"id": "e1", "output": {{"a": "4111", "b": [{big}, NaN, "x", {{"c": -{big}, "d": "4111"}}]}}, "news": {big}}}"#
        );
        let mut event: Event = read_stored(&stored).unwrap();
        let mut output = event.take_output().unwrap();
        output["a"] = "[redacted]".into();
        output["b"][3]["d"] = "[redacted]".into();
        event.set_output(Some(output));
        let text = redacted_document(&stored, &event).unwrap().unwrap();
        for expected in [
            format!(r#""news":{big}"#),
            format!(r#""output":{{"a":"[redacted]","b":[{big},NaN,"x",{{"c":-{big},"d":"[redacted]"}}]}}"#),
        ] {
            assert!(text.contains(&expected), "{expected} in {text}");
        }
        assert_eq!(read_stored::<Event>(&text).unwrap(), event);
        let odd = r#"{"id": "e1", "output": {"\ud800": "\udc00", "a": "4111"}}"#;
        let mut event: Event = read_stored(odd).unwrap();
        event.set_output(Some(serde_json::json!({"\u{fffd}": "\u{fffd}", "a": "[redacted]"})));
        let text = redacted_document(odd, &event).unwrap().unwrap();
        assert!(text.contains(r#""output":{"a":"[redacted]","\ud800":"\udc00"}"#), "{text}");
        for small in [r#"{"id": "e1", "output": 18446744073709551615}"#, r#"{"id": "e1", "output": 1.5e300}"#] {
            assert_eq!(redacted_document(small, &event).unwrap(), None);
        }
    }
}
