//! Checks the rules for a source file: its size, its header, and words that mark unfinished work.

use std::path::Path;

use crate::files::{code_lines, is_unit_tests};
use crate::finding::Finding;

/// The maximum number of lines of a source file, without tests.
const MAX_LINES: usize = 800;

/// Files that may be longer, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// Macros that mark unfinished work or left-over debugging.
const UNFINISHED: &[&str] = &["todo", "dbg", "unimplemented"];

pub(super) fn check(file: &Path, text: &str) -> Vec<Finding> {
    let finding = |line: usize, message: String| Finding { file: file.to_path_buf(), line, message };
    if is_unit_tests(file) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if !has_header(text) {
        findings.push(finding(1, "no module header: start with `//!`, what it owns and what it does not do".into()));
    }
    let code = code_lines(text);
    let excused = LONG_FILES.iter().any(|(path, _)| Path::new(path) == file);
    if code > MAX_LINES && !excused {
        findings
            .push(finding(MAX_LINES + 1, format!("{code} lines without tests, at most {MAX_LINES}: split it by idea")));
    }
    for (index, line) in text.lines().take(code).enumerate() {
        if let Some(word) = unfinished(line) {
            findings.push(finding(index + 1, format!("`{word}!` outside of tests")));
        }
    }
    findings
}

/// Returns true if the first line that is neither blank nor an inner attribute is a `//!` line.
fn has_header(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with("#!"))
        .is_some_and(|line| line.starts_with("//!"))
}

fn unfinished(line: &str) -> Option<&'static str> {
    if line.trim_start().starts_with("//") {
        return None;
    }
    UNFINISHED.iter().copied().find(|word| {
        line.match_indices(word).any(|(at, _)| {
            let boundary = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            boundary && line[at + word.len()..].starts_with("!(")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str) -> Vec<(usize, String)> {
        check(Path::new(path), text).into_iter().map(|f| (f.line, f.message)).collect()
    }

    #[test]
    fn a_header_may_follow_inner_attributes() {
        assert_eq!(check_text("src/a.rs", "//! Owns a.\n"), []);
        assert_eq!(check_text("src/a.rs", "#![expect(x)]\n\n//! Owns a.\n"), []);
        assert_eq!(check_text("src/a.rs", "use x;\n").len(), 1);
        assert_eq!(check_text("src/a.rs", "").len(), 1);
    }

    #[test]
    fn tests_do_not_count_for_the_size() {
        let code = "//! Long.\n".to_owned() + &"x();\n".repeat(MAX_LINES - 1);
        let tail = "#[cfg(test)]\nmod tests {\n".to_owned() + &"y();\n".repeat(500) + "}\n";
        assert_eq!(check_text("src/a.rs", &(code.clone() + &tail)), []);
        assert_eq!(check_text("src/a.rs", &(code + "x();\n")).len(), 1);
    }

    #[test]
    fn unfinished_work_is_found_outside_of_tests_and_comments() {
        let found = check_text("src/a.rs", "//! A.\nfn f() { todo!() }\n");
        assert_eq!(found, [(2, "`todo!` outside of tests".to_owned())]);
        assert_eq!(check_text("src/a.rs", "//! A.\n// todo!()\nmy_todo!(1);\n"), []);
        assert_eq!(check_text("src/a.rs", "//! A.\n#[cfg(test)]\nmod tests {\n dbg!(1);\n}\n"), []);
    }

    #[test]
    fn files_of_tests_are_left_alone() {
        assert_eq!(check_text("crates/a/src/b/tests.rs", "dbg!(1);\n"), []);
        assert_eq!(check_text("crates/a/src/b/tests/c.rs", "dbg!(1);\n"), []);
        assert_eq!(check_text("tests/src/b.rs", "f();\n").len(), 1);
    }
}
