//! [`Pins`]: the recorded scenarios and the tests, which can pin a rule.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::files::read;
use crate::workspace::Workspace;

/// Folders in which a test function need not have an attribute, because tables and macros call it by name.
const TABLES: &[&str] =
    &["crates/pleach-contract/src/sessions", "crates/pleach/tests/runtime", "tests", "crates/pleach-artifact/tests"];

/// The scenarios and tests of the repository.
pub(super) struct Pins {
    /// The scenarios that are recorded.
    pub(super) scenarios: BTreeSet<String>,
    /// The scenarios that are known to fail, on any backend.
    pub(super) failing: BTreeSet<String>,
    /// The names of test functions.
    pub(super) tests: BTreeSet<String>,
}

impl Pins {
    /// Finds the scenarios and tests. `sources` are the Rust files below the root, with their texts.
    pub(super) fn load(workspace: &Workspace, sources: &[(PathBuf, String)]) -> anyhow::Result<Self> {
        let at = |path: &str| workspace.workspace_root.join(path);
        let failing = read(&at("tests/conformance/expected_failures.txt"))?;
        Ok(Self {
            scenarios: scenarios(&at("tests/conformance/scenarios"))?,
            failing: failing.lines().filter_map(failing_name).collect(),
            tests: tests(sources),
        })
    }

    /// Returns the reason why the name of a scenario or test cannot be a pin.
    pub(super) fn fault(&self, name: &str) -> Option<String> {
        if self.tests.contains(name) {
            return None;
        }
        if !self.scenarios.contains(name) {
            return Some(format!("there is no test and no scenario `{name}`"));
        }
        self.failing.contains(name).then(|| format!("`{name}` is known to fail"))
    }
}

fn scenarios(folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut names = BTreeSet::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".golden.json").map(str::to_owned));
    }
    Ok(names)
}

/// Returns the scenario in a line `name: reason` or `name[backend]: reason`.
fn failing_name(line: &str) -> Option<String> {
    let (case, _) = line.split_once(':').filter(|_| !line.starts_with('#'))?;
    Some(case.split('[').next().unwrap_or(case).trim().to_owned())
}

/// Returns the functions with a test attribute, and the functions in [`TABLES`] that are named outside their
/// definition.
fn tests(sources: &[(PathBuf, String)]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut candidates = BTreeSet::new();
    let mut mentions: HashMap<&str, usize> = HashMap::new();
    for (file, text) in sources {
        names.extend(attributed(text).map(str::to_owned));
        if TABLES.iter().any(|folder| file.starts_with(folder)) {
            candidates.extend(text.lines().filter_map(function));
        }
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
            *mentions.entry(word).or_default() += 1;
        }
    }
    names.extend(candidates.into_iter().filter(|name| mentions[name] > 1).map(str::to_owned));
    names
}

/// Returns the functions of a source text that have a test attribute.
fn attributed(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().filter_map(move |line| {
        let line = line.trim();
        if let Some(name) = function(line) {
            return std::mem::take(&mut is_test).then_some(name);
        }
        is_test = match line {
            _ if line.starts_with("#[test]") || line.starts_with("#[tokio::test") => true,
            _ => is_test && (line.starts_with("#[") || line.starts_with("//")),
        };
        None
    })
}

/// Returns the name of the function that begins on a line.
pub(super) fn function(line: &str) -> Option<&str> {
    let line = line.trim();
    if line.starts_with("//") {
        return None;
    }
    let at = line.find("fn ").filter(|at| line[..*at].chars().all(|c| c.is_ascii_lowercase() || " ()".contains(c)))?;
    let rest = &line[at + 3..];
    let end = rest.find(['(', '<'])?;
    rest[..end].chars().all(|c| c.is_alphanumeric() || c == '_').then(|| &rest[..end])
}

#[cfg(test)]
mod tests_of_pins {
    use super::*;

    #[test]
    fn known_failures_are_read_without_their_backend() {
        assert_eq!(failing_name("a[sqlite]: why").as_deref(), Some("a"));
        assert_eq!(failing_name("a: why").as_deref(), Some("a"));
        assert_eq!(failing_name("# a: why"), None);
    }

    #[test]
    fn functions_are_found_by_their_first_line() {
        assert_eq!(function("    pub(crate) async fn a_b(x: u8) {"), Some("a_b"));
        assert_eq!(function("const fn c<T>() {}"), Some("c"));
        assert_eq!(function("// fn d() {}"), None);
        assert_eq!(function("let f: fn (u8) = x;"), None);
    }

    #[test]
    fn tests_have_an_attribute_or_are_named_in_a_table() {
        let source = |path: &str, text: &str| (PathBuf::from(path), text.to_owned());
        let unit =
            "#[test]\n#[cfg(x)]\nfn checks() {}\n\nfn helper() {}\n#[tokio::test]\n// why\nasync fn waits() {}\n";
        let found = tests(&[
            source("crates/a/src/a.rs", unit),
            source("tests/a/cases.rs", "pub async fn called() {}\npub async fn forgotten() {}\n"),
            source("tests/a/main.rs", "table!(called);\n"),
        ]);
        assert_eq!(Vec::from_iter(found), ["called", "checks", "waits"]);
    }
}
