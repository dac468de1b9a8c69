//! Names and texts in the language of Graphviz.

/// Words that are not names unless they are quoted.
const KEYWORDS: &[&str] = &["node", "edge", "graph", "digraph", "subgraph", "strict"];

/// Returns a name or a value as it is, or quoted where it has to be.
pub(super) fn id(text: &str) -> String {
    if is_number(text) || (is_name(text) && !is_keyword(text)) { text.to_owned() } else { quoted(text) }
}

/// Returns a text between quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Returns a text escaped for markup.
pub(super) fn markup(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', "&#x27;")
}

/// Returns attributes as a list in brackets, with a space in front; an empty text if there are none. A label between
/// `<` and `>` is markup.
pub(super) fn attributes(pairs: &[(&str, &str)]) -> String {
    let is_markup = |name: &str, value: &str| name == "label" && value.starts_with('<') && value.ends_with('>');
    let pair = |(name, value): &(&str, &str)| {
        if is_markup(name, value) { format!("{name}={value}") } else { format!("{name}={}", id(value)) }
    };
    let pairs: Vec<String> = pairs.iter().map(pair).collect();
    if pairs.is_empty() { String::new() } else { format!(" [{}]", pairs.join(" ")) }
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
        ] {
            assert_eq!(id(name), shown, "{name}");
        }
    }
}
