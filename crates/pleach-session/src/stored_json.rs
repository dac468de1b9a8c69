//! Reading JSON texts of stores, in which google-adk keeps what Rust's strings and numbers cannot.

use pleach_core::{mend_json, read_foreign_json};
use serde::de::DeserializeOwned;

/// Reads a stored JSON text. What [`mend_json`] repairs is read repaired; the store keeps it as it is.
///
/// Text without faults is parsed once, and costs a search for `\u0000` beside.
///
/// # Errors
/// The text is no JSON, or not that of a `T`, or nests more than 127 levels deep.
// S47
pub fn read_stored<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    let strict = match serde_json::from_str(text) {
        // Every other text that is repaired is invalid JSON.
        Ok(read) if !text.contains("\\u0000") => return Ok(read),
        Ok(_) => return read_foreign_json(text.as_bytes()),
        Err(error) => error,
    };
    match mend_json(text.as_bytes()) {
        std::borrow::Cow::Owned(mended) => serde_json::from_slice(&mended),
        std::borrow::Cow::Borrowed(_) => Err(strict),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::read_stored;

    #[test]
    fn what_python_stores_is_read_repaired() {
        for (stored, expected) in [
            (r#"["a\ud83d", "\u0000", NaN]"#, json!(["a\u{fffd}", "\u{fffd}", null])),
            (r#"["\\u0000", "\ud83d\ude00"]"#, json!(["\\u0000", "😀"])),
            ("[1e999, \"a\nb\"]", json!(["1e999", "a\nb"])),
        ] {
            assert_eq!(read_stored::<Value>(stored).unwrap(), expected, "{stored}");
        }
        for bad in ["", "{bad", "[1", "[NaN", &format!("{}{}", "[".repeat(128), "]".repeat(128))] {
            assert!(read_stored::<Value>(bad).is_err(), "{bad}");
        }
    }
}
