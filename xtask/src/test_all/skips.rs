//! Skipped checks. In CI, a skip is accepted only if a table in `docs/testing.md` names it with a reason.
//!
//! Otherwise nobody would notice a check that never runs, because nobody reads the table of a green CI run.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::report::Counts;

const PAGE: &str = "docs/testing.md";

/// The heading of the section with the table.
const SECTION: &str = "### What CI may skip";

/// The variable with the file to which tests write their skips.
pub(super) const VARIABLE: &str = "PLEACH_TEST_SKIPPED";

/// A skipped check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Skip {
    /// The name of a step, row or test, or the place of a documentation test.
    pub(super) name: String,
    pub(super) reason: String,
}

/// The rows of the table.
#[derive(Debug, Default)]
pub(super) struct Allowed {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    name: String,
    /// Words that the reason must contain, so that the row does not excuse a skip for another reason.
    words: String,
}

impl Allowed {
    /// Reads the page.
    pub(super) fn load(root: &Path) -> anyhow::Result<Self> {
        let file = root.join(PAGE);
        let page = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(Self::read(&page))
    }

    /// Reads the rows of the table. The name and the words are code; the third cell explains why the check may be
    /// skipped.
    pub(super) fn read(page: &str) -> Self {
        let section = page.split_once(SECTION).map_or("", |(_, rest)| rest);
        let section = section.split_once("\n#").map_or(section, |(section, _)| section);
        let code = |cell: &str| Some(cell.trim().strip_prefix('`')?.strip_suffix('`')?.to_owned());
        let row = |line: &str| {
            let mut cells = line.trim().strip_prefix('|')?.strip_suffix('|')?.split('|');
            let (name, words, reason) = (cells.next()?, cells.next()?, cells.next()?);
            (!reason.trim().is_empty()).then_some(())?;
            Some(Row { name: code(name)?, words: code(words)? })
        };
        Self { rows: section.lines().filter_map(row).collect() }
    }

    /// Returns the names in the table.
    #[cfg(test)]
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| row.name.as_str())
    }

    /// Returns true if a row names the skipped check with this reason.
    pub(super) fn has(&self, skip: &Skip) -> bool {
        let is_named = |name: &str| {
            let is_place = name.contains('/') && skip.name.contains(name);
            is_place || skip.name == name || skip.name.ends_with(&format!("::{name}"))
        };
        self.rows.iter().any(|row| is_named(&row.name) && skip.reason.contains(&row.words))
    }
}

/// The file to which the tests of a step write their skips.
#[derive(Debug)]
pub(super) struct Skips {
    file: PathBuf,
    /// The tests that the test runner reported as ignored.
    ignored: Vec<Skip>,
}

impl Skips {
    /// Creates an empty file.
    pub(super) fn new(target: &Path) -> anyhow::Result<Self> {
        let file = target.join("skipped-tests");
        std::fs::write(&file, "").with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Self { file, ignored: Vec::new() })
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Reads a line of a test runner: `test NAME ... ignored`, with an optional reason.
    pub(super) fn read_line(&mut self, line: &str) {
        let Some((name, result)) = line.strip_prefix("test ").and_then(|line| line.split_once(" ... ")) else { return };
        if result.starts_with("ignored") {
            self.ignored.push(Skip { name: name.to_owned(), reason: result.to_owned() });
        }
    }

    /// Returns two lists: the tests that reported a skip themselves, and the tests that the runner ignored.
    pub(super) fn read(self) -> anyhow::Result<(Vec<Skip>, Vec<Skip>)> {
        let text = std::fs::read_to_string(&self.file).context("cannot read what was skipped")?;
        let line = |line: &str| {
            let (name, reason) = line.split_once('\t')?;
            Some(Skip { name: name.to_owned(), reason: reason.to_owned() })
        };
        let mut said: Vec<Skip> = text.lines().filter_map(line).collect();
        said.sort();
        said.dedup_by(|a, b| a.name == b.name);
        Ok((said, self.ignored))
    }
}

/// Corrects the counts: the runner counts a test that reports a skip itself as passed. In CI, a skip that is not
/// allowed is counted as a failure.
pub(super) fn judge(counts: &mut Counts, said: &[Skip], ignored: &[Skip], is_ci: bool, allows: impl Fn(&Skip) -> bool) {
    let moved = said.len().min(counts.passed);
    counts.passed -= moved;
    counts.skipped += moved;
    for skip in said.iter().chain(ignored) {
        println!("SKIPPED {}: {}", skip.name, skip.reason);
        if is_ci && !allows(skip) {
            println!("    a failure: {PAGE} does not name it under `{}`", SECTION.trim_start_matches(['#', ' ']));
            counts.failed += 1;
            counts.skipped = counts.skipped.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "## A\n\n| `other` | `x` | y |\n\n### What CI may skip\n\n| skipped | because | why |\n| --- | --- | --- |\n| `advisories` | `no way` | the network |\n| `a_large_file` | `LARGE is not set` | time |\n| `docs/a.md` | `ignored` | an excerpt |\n| `no_reason` | `x` | |\n\n### B\n\n| `behind` | `x` | y |\n";

    fn skip(name: &str, reason: &str) -> Skip {
        Skip { name: name.to_owned(), reason: reason.to_owned() }
    }

    #[test]
    fn only_what_the_table_names_with_its_words_may_be_skipped() {
        let allowed = Allowed::read(TABLE);
        for (name, reason, expected) in [
            ("advisories", "no way to the database", true),
            ("advisories", "the program has crashed", false),
            ("tests::file::a_large_file", "LARGE is not set", true),
            ("another_a_large_file", "LARGE is not set", false),
            ("crates/x/src/../../../docs/a.md - A (line 3)", "ignored", true),
            ("deny", "no way", false),
            ("other", "x", false),
            ("behind", "x", false),
            ("no_reason", "x", false),
        ] {
            assert_eq!(allowed.has(&skip(name, reason)), expected, "{name}: {reason}");
        }
    }

    #[test]
    fn skipped_tests_are_counted_and_in_ci_must_be_named() {
        let check = |is_ci, expected: (usize, usize, usize)| {
            let mut counts = Counts { passed: 10, failed: 0, skipped: 1 };
            let (said, ignored) = ([skip("a", "x"), skip("b", "x")], [skip("c", "ignored")]);
            judge(&mut counts, &said, &ignored, is_ci, |skip| skip.name == "a");
            assert_eq!((counts.passed, counts.failed, counts.skipped), expected);
        };
        check(false, (8, 0, 3));
        check(true, (8, 2, 1));
    }

    #[test]
    fn lines_of_tests_that_are_left_out_are_read() {
        let folder = std::env::temp_dir().join(format!("pleach-skips-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut skips = Skips::new(&folder).expect("a file");
        for line in
            ["test a ... ok", "test b ... ignored, slow", "test docs/x.md - X (line 1) ... ignored", "b ignored"]
        {
            skips.read_line(line);
        }
        std::fs::write(skips.file(), "t::b\twhy\nt::a\tno\nt::b\twhy\n").expect("a file");
        let (said, ignored) = skips.read().expect("the file");
        assert_eq!(said, [skip("t::a", "no"), skip("t::b", "why")]);
        assert_eq!(ignored, [skip("b", "ignored, slow"), skip("docs/x.md - X (line 1)", "ignored")]);
        std::fs::remove_dir_all(folder).expect("it is there");
    }
}
