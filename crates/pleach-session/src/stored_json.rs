//! Reading stored JSON texts, in which google-adk keeps values that Rust's strings and numbers cannot represent.

use pleach_core::{mend_json, read_foreign_json};
use serde::de::DeserializeOwned;

/// Reads a stored JSON text. Faults that [`mend_json`] can repair are repaired in the result; the stored text is not
/// changed.
///
/// Text without faults is parsed once, plus a search for `\u0000`.
///
/// # Errors
/// The text is not JSON, or not the JSON of a `T`, or it nests more than 127 levels deep.
// S47
pub fn read_stored<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    let strict = match serde_json::from_str(text) {
        // Any other text that needs repair is invalid JSON.
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
    fn text_that_python_stores_is_repaired_when_read() {
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
