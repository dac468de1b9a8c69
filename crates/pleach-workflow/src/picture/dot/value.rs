//! [`DotValue`]: names and texts in the language of Graphviz.

use std::borrow::Cow;
use std::fmt;

/// Words that are not names unless they are quoted.
const KEYWORDS: &[&str] = &["node", "edge", "graph", "digraph", "subgraph", "strict"];

/// The value of an attribute. `Display` writes it as DOT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DotValue {
    /// A value that is quoted where it has to be.
    Word(Cow<'static, str>),
    /// A text that is always quoted. A line break in it is one in the picture.
    Text(String),
    /// An HTML-like label. The texts in it have to be [escaped](crate::picture::escape_markup).
    Markup(String),
}

impl From<&'static str> for DotValue {
    fn from(word: &'static str) -> Self {
        Self::Word(word.into())
    }
}

impl From<String> for DotValue {
    fn from(word: String) -> Self {
        Self::Word(word.into())
    }
}

impl fmt::Display for DotValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => f.write_str(&quoted_if_needed(word)),
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::Markup(markup) => write!(f, "<{markup}>"),
        }
    }
}

/// Returns a name or a value as it is, or quoted where it has to be.
pub(super) fn quoted_if_needed(text: &str) -> Cow<'_, str> {
    if is_number(text) || (is_name(text) && !is_keyword(text)) { text.into() } else { quoted(text).into() }
}

/// Returns a text between quotes. A control character other than a line break becomes a space.
fn quoted(text: &str) -> String {
    let text = text.replace(|character: char| character.is_control() && character != '\n', " ");
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    let first = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_');
    first && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn is_keyword(text: &str) -> bool {
    KEYWORDS.contains(&text.to_ascii_lowercase().as_str())
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.split('.').count() <= 2
        && digits.contains(|letter: char| letter.is_ascii_digit())
        && digits.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h107_names_are_quoted_where_they_have_to_be() {
        for (name, shown) in [
            ("get_weather", "get_weather"),
            ("0.9", "0.9"),
            ("0.25,0.15", "\"0.25,0.15\""),
            ("1.2.3", "\"1.2.3\""),
            ("a-b", "\"a-b\""),
            ("1a", "\"1a\""),
            ("Node", "\"Node\""),
            ("", "\"\""),
            ("a\" -> b [x=\"", "\"a\\\" -> b [x=\\\"\""),
            ("a\\", "\"a\\\\\""),
            ("a\n\u{1b}[2J", "\"a\\n [2J\""),
        ] {
            assert_eq!(DotValue::from(name).to_string(), shown, "{name}");
        }
        assert_eq!(DotValue::Text("get_weather".into()).to_string(), "\"get_weather\"");
    }
}
