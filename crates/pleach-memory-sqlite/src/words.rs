//! The texts that the index contains, and the words for which it is searched.
//!
//! Both are exactly google-adk's, because its service and this one search each other's files.
// S82

use std::collections::HashSet;

use pleach_core::Content;
use pleach_memory::words::{MOST_WORDS, composed, is_word, script_runs};

/// Returns the text by which an event is found; empty if the event has no text. Thoughts are ignored.
pub(crate) fn search_text(content: &Content, max_bytes: usize) -> String {
    let said = content.parts().iter().filter(|part| part.thought != Some(true)).filter_map(|part| part.text.as_deref());
    let lines = said.map(|text| text.replace('\n', " "));
    let texts: Vec<String> = lines.map(|line| line.trim_matches(is_space).to_owned()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    // Split before lowering: a lowered `İ` contains a mark that would be treated as another script.
    let mut text = split_scripts(&composed(&texts.join(" "))).to_lowercase();
    text.truncate(text.floor_char_boundary(max_bytes));
    text
}

/// Returns the first [`MOST_WORDS`] distinct words of a query, in lower case and in order. Their number is limited
/// because SQLite's time grows with its square.
pub(crate) fn of_query(query: &str) -> Vec<String> {
    let split = split_scripts(&composed(query));
    let words = split.split(|c: char| !(is_word(c) || c == '%')).filter(|word| !word.is_empty());
    let mut seen = HashSet::new();
    words.map(str::to_lowercase).filter(|word| seen.insert(word.clone())).take(MOST_WORDS).collect()
}

/// Returns a full-text query for any of the words.
pub(crate) fn match_any(words: &[String]) -> String {
    // Words contain no quotes.
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ")
}

/// Returns one pattern for each word, for `LIKE … ESCAPE '\'`. It matches texts that contain the word.
pub(crate) fn like_patterns(words: &[String]) -> Vec<String> {
    words.iter().map(|word| format!("%{}%", word.replace('%', "\\%").replace('_', "\\_"))).collect()
}

/// Puts blanks between Latin letters and others, so that each run is a word of its own.
fn split_scripts(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let words = text.split(is_space).filter(|word| !word.is_empty());
    let runs = words.flat_map(|word| if word.is_ascii() { vec![word] } else { script_runs(word) });
    runs.collect::<Vec<_>>().join(" ")
}

/// Returns `true` if Python's `str.split` separates words at this character.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

#[cfg(test)]
mod tests {
    use pleach_core::Part;

    use super::*;

    #[test]
    fn s82_questions_become_distinct_words() {
        let check = |query: &str, expected: &[&str]| assert_eq!(of_query(query), expected, "{query}");
        check("The QUICK, the quick!", &["the", "quick"]);
        check("snake_case 100%", &["snake_case", "100%"]);
        check("私はPythonを使う", &["私は", "python", "を使う"]);
        check("Cafe\u{301}", &["café"]);
        check("हिन्दी", &["ह", "न", "द"]);
        check("?! \"", &[]);
    }

    #[test]
    fn s82_texts_are_joined_split_and_lowered() {
        let check = |texts: &[&str], expected: &str| {
            let content = Content::new("user", texts.iter().map(|text| Part::text(*text)));
            assert_eq!(search_text(&content, 40), expected);
        };
        check(&["  One\nTwo ", "\n", "three"], "one two three");
        check(&["Café, bitte"], "café , bitte");
        check(&["İstanbul"], "i\u{307}stanbul");
        check(&["\u{1c}a\u{1f}b  c"], "a\u{1f}b  c");
        check(&["ü\u{1f}b  c"], "ü b c");
        check(&[&"ü".repeat(30)], &"ü".repeat(20));
        check(&[&format!("x{}", "ü".repeat(30))], &format!("x{}", "ü".repeat(19)));
    }

    #[test]
    fn s82_thoughts_are_not_searched() {
        let mut thought = Part::text("secret");
        thought.thought = Some(true);
        assert_eq!(search_text(&Content::new("model", [thought, Part::text("said")]), 40), "said");
    }

    #[test]
    fn s82_patterns_escape_wildcards() {
        assert_eq!(like_patterns(&of_query("a_b 5%")), ["%a\\_b%", "%5\\%%"]);
        assert_eq!(match_any(&of_query("a_b 5%")), "\"a_b\" OR \"5%\"");
    }
}
