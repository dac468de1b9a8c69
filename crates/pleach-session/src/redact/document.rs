//! The text of a redacted document, in which numbers that reading would round stay as they are.

use std::collections::BTreeMap;

use pleach_core::Event;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::raw_state::{has_big_integers, without_bare_words};

/// Returns the document of a redacted event, with the stored text of every value that is the same; `None` when the event's own JSON text
/// loses nothing.
///
/// Other programs store integers of more than 64 bits. An event reads them as floats, so that its JSON text has other digits.
///
/// # Errors
/// When `stored` is not the JSON text of an object.
pub fn redacted_document(stored: &str, redacted: &Event) -> serde_json::Result<Option<String>> {
    if !has_big_integers(stored) {
        return Ok(None);
    }
    let mut text = String::with_capacity(stored.len());
    write(&without_bare_words(stored), &serde_json::to_value(redacted)?, &mut text)?;
    Ok(Some(text))
}

/// Writes a value, and takes the stored text of what is equal.
fn write(stored: &str, new: &Value, text: &mut String) -> serde_json::Result<()> {
    if serde_json::from_str::<Value>(stored)? == *new {
        text.push_str(stored);
        return Ok(());
    }
    match new {
        Value::Object(fields) if stored.starts_with('{') => {
            let stored: BTreeMap<String, &RawValue> = serde_json::from_str(stored)?;
            text.push('{');
            for (place, (name, value)) in fields.iter().enumerate() {
                text.push_str(if place == 0 { "" } else { "," });
                text.push_str(&serde_json::to_string(name)?);
                text.push(':');
                write_field(stored.get(name).copied(), value, text)?;
            }
            text.push('}');
        }
        Value::Array(list) if stored.starts_with('[') => {
            let stored: Vec<&RawValue> = serde_json::from_str(stored)?;
            text.push('[');
            for (place, value) in list.iter().enumerate() {
                text.push_str(if place == 0 { "" } else { "," });
                write_field(stored.get(place).copied(), value, text)?;
            }
            text.push(']');
        }
        new => text.push_str(&serde_json::to_string(new)?),
    }
    Ok(())
}

fn write_field(stored: Option<&RawValue>, new: &Value, text: &mut String) -> serde_json::Result<()> {
    match stored {
        Some(stored) => write(stored.get(), new, text),
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
    fn what_is_not_redacted_keeps_its_text() {
        let big = "123456789012345678901234567890";
        let stored = format!(
            r#"{{"id": "e1", "output": {{"a": "4111", "b": [{big}, NaN, "x", {{"c": -{big}, "d": "4111"}}]}}, "news": {big}}}"#
        );
        let clean = stored.replace("NaN", "null");
        let mut event: Event = serde_json::from_str(&clean).unwrap();
        let mut output = event.take_output().unwrap();
        output["a"] = "[redacted]".into();
        output["b"][3]["d"] = "[redacted]".into();
        event.set_output(Some(output));
        let text = redacted_document(&stored, &event).unwrap().unwrap();
        for expected in [
            format!(r#""news":{big}"#),
            format!(r#""output":{{"a":"[redacted]","b":[{big},null,"x",{{"c":-{big},"d":"[redacted]"}}]}}"#),
        ] {
            assert!(text.contains(&expected), "{expected} in {text}");
        }
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
        for small in [r#"{"id": "e1", "output": 18446744073709551615}"#, r#"{"id": "e1", "output": 1.5e300}"#] {
            assert_eq!(redacted_document(small, &event).unwrap(), None);
        }
    }
}
