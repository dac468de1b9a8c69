//! Formatting an error with its causes as one text.

use std::error::Error;

use serde_json::error::Category;

use crate::BoxError;

/// Returns the text of an error followed by the texts of its causes, each text once.
///
/// Errors of this project use it to show a cause in their own `Display`; their `source()` then returns `None`.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        // Many errors already include the text of their cause.
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = cause.source();
    }
    text
}

/// Returns an error that says why stored data cannot be read, without showing the data: errors are logged, and
/// stored data may be secret.
///
/// The text of a `serde_json` error quotes values, so only its kind and its position are kept. Other errors are
/// returned unchanged.
pub fn without_data(error: impl Into<BoxError>) -> BoxError {
    let error = error.into();
    let Some(json) = error.downcast_ref::<serde_json::Error>() else { return error };
    let reason = match json.classify() {
        Category::Io => return error,
        Category::Eof => "the JSON text ends too early",
        Category::Syntax if json.to_string().starts_with("recursion limit") => "it nests more than 127 levels deep",
        Category::Syntax => "it is not valid JSON",
        Category::Data => "the JSON does not have the expected form",
    };
    match (json.line(), json.column()) {
        (0, _) => reason.into(),
        (line, column) => format!("{reason}: line {line}, column {column}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Link {
        text: &'static str,
        source: Option<Box<Link>>,
    }

    #[test]
    fn every_text_is_shown_once() {
        let chain = |texts: &[&'static str]| {
            let link = |source, text: &&'static str| Some(Box::new(Link { text, source }));
            with_causes(&*texts.iter().rev().fold(None, link).unwrap())
        };
        assert_eq!(chain(&["open failed", "no such file"]), "open failed: no such file");
        assert_eq!(chain(&["open failed: no such file", "no such file"]), "open failed: no such file");
    }
}
