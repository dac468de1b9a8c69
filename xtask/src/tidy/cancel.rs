//! Checks that every public async function of a library documents what happens when its future is dropped.

use std::path::Path;

use crate::files::{code_lines, is_unit_tests};
use crate::finding::Finding;

/// The heading of the section.
const HEADING: &str = "# Cancel safety";

/// The rules of session services and the helpers of tests, which are hidden from users.
const HIDDEN: [&str; 2] = ["crates/pleach-contract/src/own_tests", "crates/pleach-contract/src/sessions"];

/// Finds the public async functions of a file whose documentation lacks the section. Only libraries are checked: the
/// crates below `crates`, without functions that users do not see.
pub(super) fn check(file: &Path, text: &str) -> Vec<Finding> {
    if !file.starts_with("crates") || HIDDEN.iter().any(|folder| file.starts_with(folder)) || is_unit_tests(file) {
        return Vec::new();
    }
    let (mut findings, mut has_section) = (Vec::new(), false);
    for (index, line) in text.lines().take(code_lines(text)).enumerate() {
        let line = line.trim_start();
        if let Some(function) = line.strip_prefix("pub async fn ") {
            let name: String = function.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !has_section {
                let message = format!("`{name}` is async and its documentation has no section `{HEADING}`");
                findings.push(Finding { file: file.to_path_buf(), line: index + 1, message });
            }
        }
        let is_before_item = line.starts_with("//") || line.starts_with("#[");
        has_section = is_before_item && (has_section || line.contains(HEADING));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &str, text: &str) -> Vec<usize> {
        check(Path::new(file), text).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn async_functions_without_the_section_are_found() {
        let text = "/// Opens it.\n///\n/// # Cancel safety\n/// None.\n// R1\n#[must_use]\npub async fn open() {}\n\n\
                    /// Reads it.\npub async fn read() {}\n pub async fn write<T>() {}\npub(crate) async fn own() {}\n\
                    pub fn plain() {}\n#[cfg(test)]\nmod tests {\n    pub async fn test() {}\n}\n";
        assert_eq!(lines("crates/a/src/lib.rs", text), [10, 11]);
        assert_eq!(lines("crates/pleach-contract/src/sessions/load.rs", text), [0; 0]);
        assert_eq!(lines("xtask/src/main.rs", text), [0; 0]);
    }
}
