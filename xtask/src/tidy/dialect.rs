//! Words that the documentation of this repository overused until they became a dialect.
//!
//! Comments and documents may hold as many of them as [`LIMITS`] says for their crate, and no more. Lower a number when
//! words have gone; never raise one.

use std::path::{Path, PathBuf};

use super::finding::Finding;
use crate::files::Sources;
use crate::files::comment;

/// The words, each with its name in reports and its forms, separated by `|`.
pub(crate) const WORDS: &[(&str, &str)] = &[
    ("nobody", "nobody"),
    ("stands", "stand|stands|stood|standing"),
    ("goes on", "go on|goes on|went on|gone on|going on"),
    ("tells", "tell|tells|told|telling"),
    (
        "says what",
        "say what|says what|said what|say which|says which|say whether|says whether|say how|says how|say why|says why|say who|says who|say where|says where",
    ),
    ("whoever", "whoever|somebody"),
];

/// How many of these words the comments of a crate, or the documents, may hold.
const LIMITS: &[(&str, usize)] = &[
    ("docs", 0),
    ("benches", 0),
    ("crates/pleach", 0),
    ("crates/pleach-artifact", 0),
    ("crates/pleach-context", 0),
    ("crates/pleach-core", 0),
    ("crates/pleach-memory", 0),
    ("crates/pleach-memory-sqlite", 0),
    ("crates/pleach-runner", 0),
    ("crates/pleach-schema", 0),
    ("crates/pleach-session", 0),
    ("crates/pleach-session-inmemory", 0),
    ("crates/pleach-session-postgres", 0),
    ("crates/pleach-session-sqlite", 1),
    ("crates/pleach-testkit", 0),
    ("crates/pleach-workflow", 0),
    ("examples", 0),
    ("tests", 0),
    ("xtask", 2),
];

pub(super) fn check(sources: &Sources) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, found) in by_crate(sources) {
        let limit = LIMITS.iter().find(|(name, _)| Path::new(name) == folder).map_or(0, |(_, limit)| *limit);
        let total: usize = found.iter().sum();
        if total > limit {
            let message =
                format!("{total} words of the dialect ({}), at most {limit}: use the field's words", list(&found));
            findings.push(Finding { file: folder, line: 1, message });
        }
    }
    findings
}

/// The counts of the words, for each crate or folder that has comments or documents.
fn by_crate(sources: &Sources) -> Vec<(PathBuf, Vec<usize>)> {
    let mut counts: Vec<(PathBuf, Vec<usize>)> = Vec::new();
    for (file, _) in &sources.files {
        let folder = owner(file);
        if counts.last().is_none_or(|(last, _)| *last != folder) && !counts.iter().any(|(known, _)| *known == folder) {
            counts.push((folder.clone(), count(sources, &folder)));
        }
    }
    counts
}

/// The crate or the folder that a file belongs to; the root's documents belong to `docs`.
fn owner(file: &Path) -> PathBuf {
    let depth = if file.starts_with("crates") { 2 } else { 1 };
    if file.components().count() == 1 { "docs".into() } else { file.components().take(depth).collect() }
}

/// How often each of the words occurs in the comments and documents of a crate or folder. The changelog is history.
pub(crate) fn count(sources: &Sources, folder: &Path) -> Vec<usize> {
    let mut counts = vec![0; WORDS.len()];
    let own = sources.files.iter().filter(|(file, _)| owner(file) == folder && file != Path::new("CHANGELOG.md"));
    for (file, text) in own {
        let text = prose(file, text);
        for (count, (_, forms)) in counts.iter_mut().zip(WORDS) {
            *count += forms.split('|').map(|form| occurrences(&text, form)).sum::<usize>();
        }
    }
    counts
}

/// The sentences of a file, in small letters and without line ends.
fn prose(file: &Path, text: &str) -> String {
    let is_rust = file.extension().is_some_and(|extension| extension == "rs");
    let lines =
        text.lines().filter_map(|line| if is_rust { comment(line).map(|comment| comment.text) } else { Some(line) });
    lines.flat_map(str::split_whitespace).flat_map(|word| [word, " "]).collect::<String>().to_lowercase()
}

fn occurrences(text: &str, form: &str) -> usize {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_whole = |at: usize| {
        let (before, after) = (&text[..at], &text[at + form.len()..]);
        !is_word(before.chars().next_back()) && !is_word(after.chars().next())
    };
    text.match_indices(form).filter(|(at, _)| is_whole(*at)).count()
}

/// The words that occur, with their numbers.
fn list(counts: &[usize]) -> String {
    let found = WORDS.iter().zip(counts).filter(|(_, count)| **count > 0);
    found.map(|((name, _), count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        Sources { files: files.iter().map(|(file, text)| (PathBuf::from(file), (*text).to_owned())).collect() }
    }

    #[test]
    fn words_are_counted_in_comments_and_documents() {
        let sources = sources(&[
            ("README.md", "Nobody knows.\nIt goes\non."),
            ("crates/a/src/x.rs", "// told, and untold\nfn nobody() {} // it says\n// what\n"),
            ("crates/b/src/x.rs", "let nobody = \"// nobody\";\n"),
            ("docs/a.md", "It stands."),
        ]);
        assert_eq!(count(&sources, Path::new("docs")), [1, 1, 1, 0, 0, 0]);
        assert_eq!(count(&sources, Path::new("crates/a")), [0, 0, 0, 1, 1, 0]);
        assert_eq!(count(&sources, Path::new("crates/b")), [0; 6]);
    }

    #[test]
    fn a_crate_without_a_limit_may_have_none() {
        let findings = check(&sources(&[("crates/new/src/x.rs", "// nobody tells\n")]));
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0].message.starts_with("2 words of the dialect (nobody 1, tells 1), at most 0"),
            "{findings:?}"
        );
    }
}
