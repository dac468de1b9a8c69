//! The record, which makes sure that a change of the API files comes with a new line in the changelog.
//!
//! The record has two digests, from the time when the API files were written: one of the files, and one of the section
//! *Unreleased* of the changelog. `cargo xtask api` writes changed files only if that section has changed as well. If
//! the files differ from their digest, another program has written them. This check needs no history of commits.

use std::path::Path;

use sha2::{Digest as _, Sha256};

/// The name of the record in the folder of the files.
pub(super) const FILE: &str = "record";

pub(super) const CHANGELOG: &str = "CHANGELOG.md";

/// The heading of the section that must change with the API. It may be a link.
const SECTION: &str = "Unreleased";

/// The digests in the record.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    api: String,
    changelog: String,
}

/// Returns the record to write next to these files, or the reason why they must not be written.
pub(super) fn next(
    folder: &Path,
    files: impl Iterator<Item = (String, String)>,
    changelog: &str,
) -> Result<String, String> {
    decide(&std::fs::read_to_string(folder.join(FILE)).unwrap_or_default(), &digest_of_files(files), changelog)
}

/// Fails if the files were not written together with the record.
pub(super) fn check(folder: &Path, files: impl Iterator<Item = (String, String)>) -> Result<(), String> {
    let stored = read(&std::fs::read_to_string(folder.join(FILE)).unwrap_or_default());
    match stored.is_some_and(|record| record.api == digest_of_files(files)) {
        true => Ok(()),
        false => Err("the files were changed by hand: run `cargo xtask api`".to_owned()),
    }
}

fn decide(stored: &str, api: &str, changelog: &str) -> Result<String, String> {
    let section = digest(unreleased(changelog));
    match read(stored) {
        // The API has not changed, so the next change is still compared with the stored section.
        Some(record) if record.api == api => Ok(stored.to_owned()),
        Some(record) if record.changelog == section => Err(format!(
            "the public API has changed and the section {SECTION} of {CHANGELOG} has not: say there what users must know"
        )),
        _ => Ok(format!("api {api}\nchangelog {section}\n")),
    }
}

fn read(text: &str) -> Option<Record> {
    let word = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
    Some(Record { api: word("api")?, changelog: word("changelog")? })
}

/// Returns the text of the section up to the next heading of its level, or an empty text if there is none.
fn unreleased(changelog: &str) -> &str {
    changelog.split("\n## ").find(|section| section.trim_start_matches('[').starts_with(SECTION)).unwrap_or_default()
}

fn digest_of_files(files: impl Iterator<Item = (String, String)>) -> String {
    digest(&files.map(|(name, text)| format!("{name}\n{text}\n")).collect::<String>())
}

/// Returns the first half of a SHA-256 digest in hexadecimal.
fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_api_needs_a_changed_section() {
        let changelog = "# Changelog\n\n## Unreleased\n\n- a\n\n## 0.1.0\n\n- b\n";
        let first = decide("", "one", changelog).expect("there was no record");
        assert_eq!(decide(&first, "one", changelog), Ok(first.clone()));
        let refusal = decide(&first, "two", changelog).expect_err("no new line");
        assert!(refusal.contains("Unreleased"), "{refusal}");
        // It is not enough to change an older section, or the text above the section.
        for other in [changelog.replace("- b", "- c"), changelog.replace("# Changelog", "# Changes")] {
            decide(&first, "two", &other).expect_err("the section is the same");
        }
        let second = decide(&first, "two", &changelog.replace("- a\n", "- a\n- two\n")).expect("a new line");
        assert_ne!(first, second);
        // Reverting a change is a change as well.
        decide(&second, "one", &changelog.replace("- a\n", "- a\n- two\n")).expect_err("no new line");
    }

    #[test]
    fn an_unchanged_api_keeps_the_section_from_which_the_next_change_counts() {
        let first = decide("", "one", "# C\n## [Unreleased]\n- a\n").expect("there was no record");
        let later = decide(&first, "one", "# C\n## [Unreleased]\n- a\n- b\n").expect("nothing has changed");
        assert_eq!(first, later);
        decide(&later, "two", "# C\n## [Unreleased]\n- a\n- b\n").expect("the section has a new line");
    }

    #[test]
    fn files_that_were_changed_by_hand_are_noticed() {
        let folder = std::env::temp_dir().join(format!("pleach-api-record-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let files = |text: &str| [("a".to_owned(), text.to_owned())].into_iter();
        check(&folder, files("fn a()")).expect_err("there is no record");
        let record = next(&folder, files("fn a()"), "# C\n## [Unreleased]\n").expect("the first record");
        std::fs::write(folder.join(FILE), record).expect("a file");
        check(&folder, files("fn a()")).expect("they are those of the record");
        check(&folder, files("fn b()")).expect_err("they are others");
        std::fs::remove_dir_all(folder).expect("it is there");
    }
}
