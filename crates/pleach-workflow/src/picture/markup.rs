//! [`escape_markup`]: texts in SVG and in the HTML-like labels of Graphviz.

/// Escapes a text for markup, and replaces the characters that XML does not allow.
#[must_use]
pub fn escape_markup(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#x27;"),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}
