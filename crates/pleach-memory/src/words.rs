//! Splitting texts into searchable words. The module is public for services in other crates.
// S81

use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Returns the text in composed form (NFC).
pub fn composed(text: &str) -> String {
    text.nfc().collect()
}

/// The largest number of distinct words of a query. It is limited because each word is compared with every text.
pub const MOST_WORDS: usize = 1_000;

/// Returns the first [`MOST_WORDS`] distinct words of a query, in lower case.
pub(crate) fn of_query(query: &str) -> HashSet<String> {
    let query = composed(query);
    let mut words = HashSet::new();
    for word in split(&query) {
        if words.len() == MOST_WORDS {
            break;
        }
        words.insert(word.to_lowercase());
    }
    words
}

/// Returns the distinct searchable words of a composed text, in lower case.
///
/// In scripts without blanks, a whole sentence is one word. So if a word mixes Latin letters with others, each run of
/// one kind is indexed as well: `私はPythonを使う` matches `python`, but not `thon`.
pub(crate) fn of_text(composed: &str) -> HashSet<String> {
    let mut words = words(composed);
    let runs: Vec<String> =
        words.iter().filter(|word| !word.is_ascii()).flat_map(|word| script_runs(word)).map(str::to_owned).collect();
    words.extend(runs);
    words
}

fn words(composed: &str) -> HashSet<String> {
    split(composed).map(str::to_lowercase).collect()
}

fn split(composed: &str) -> impl Iterator<Item = &str> {
    composed.split(|c: char| !(is_word(c) || is_vowel_sign(c))).filter(|word| !word.is_empty())
}

/// Returns `true` if Python's `\w` matches: for letters and numbers, but not for marks or for letters in circles or
/// squares.
pub fn is_word(c: char) -> bool {
    let enclosed = matches!(u32::from(c), 0x24b6..=0x24e9 | 0x1f130..=0x1f149 | 0x1f150..=0x1f169 | 0x1f170..=0x1f189);
    c == '_' || (c.is_alphanumeric() && !is_combining_mark(c) && !enclosed)
}

/// Returns `true` if a mark is part of a word's spelling. google-adk splits words at such marks, which reduces a Hindi
/// word to its consonants.
fn is_vowel_sign(c: char) -> bool {
    c.is_alphabetic() && is_combining_mark(c)
}

/// Splits a word into runs of Latin letters, digits and `_`, and runs of all other characters: `私はPython` into `私は` and
/// `Python`.
pub fn script_runs(word: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_latin(c) != is_latin(first)).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        runs.push(run);
        rest = behind;
    }
    runs
}

fn is_latin(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    LATIN.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(c)))
}

/// The code points beyond ASCII whose Unicode name begins with LATIN (Unicode 14).
const LATIN: [(u32, u32); 26] = [
    (0xc0, 0xd6),
    (0xd8, 0xf6),
    (0xf8, 0x2af),
    (0x1d00, 0x1d25),
    (0x1d62, 0x1d65),
    (0x1d6b, 0x1d77),
    (0x1d79, 0x1d9a),
    (0x1e00, 0x1eff),
    (0x2090, 0x209c),
    (0x2184, 0x2184),
    (0x271d, 0x271d),
    (0x2c60, 0x2c7c),
    (0x2c7e, 0x2c7f),
    (0xa722, 0xa76f),
    (0xa771, 0xa787),
    (0xa78b, 0xa7ca),
    (0xa7d0, 0xa7d1),
    (0xa7d3, 0xa7d3),
    (0xa7d5, 0xa7d9),
    (0xa7f5, 0xa7f7),
    (0xa7fa, 0xa7ff),
    (0xab30, 0xab5a),
    (0xab60, 0xab64),
    (0xab66, 0xab68),
    (0xfb00, 0xfb06),
    (0x1df00, 0x1df1e),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut words: Vec<String> = of_text(&composed(text)).into_iter().collect();
        words.sort_unstable();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(words, expected, "{text}");
    }

    #[test]
    fn s81_words_are_lower_case_and_whole() {
        check("The quick, the QUICK snake_case 42!", &["the", "quick", "snake_case", "42"]);
        check("...", &[]);
        check("Cafe\u{301}", &["café"]);
        check("Größe", &["größe"]);
        check("Ⓐ 🄰 ½", &["½"]);
    }

    #[test]
    fn s81_mixed_scripts_are_also_split() {
        check("私はPythonを使う", &["私はpythonを使う", "私は", "python", "を使う"]);
    }
}
