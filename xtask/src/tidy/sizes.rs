//! Limits the size of the crates that all other crates depend on.
//!
//! Put a new idea into a crate above them if possible. Raise a limit only with a reason, and lower it when code has
//! been removed.

use std::path::Path;

use crate::files::Sources;
use crate::files::{code_lines, is_unit_tests};
use crate::finding::Finding;

/// The maximum number of source lines of a crate. Tests and comment lines are not counted, so documentation may grow.
/// The commits that changed this line have the reasons.
const LIMITS: &[(&str, usize)] = &[("crates/pleach-core", 6_060), ("crates/pleach-context", 11_090)];

pub(super) fn check(sources: &Sources) -> Vec<Finding> {
    let over = LIMITS.iter().filter_map(|(folder, limit)| {
        let lines = lines(sources, &Path::new(folder).join("src"));
        let message =
            format!("{lines} lines of source, at most {limit}: put new code into a crate above, or move something out");
        (lines > *limit).then(|| Finding { file: folder.into(), line: 1, message })
    });
    over.collect()
}

fn lines(sources: &Sources, src: &Path) -> usize {
    let own = sources.files.iter().filter(|(file, _)| {
        file.starts_with(src) && !is_unit_tests(file) && file.extension().is_some_and(|extension| extension == "rs")
    });
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    own.map(|(_, text)| text.lines().take(code_lines(text)).filter(is_code).count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_without_tests_comments_and_other_files() {
        let file = |path: &str, text: &str| (path.into(), text.to_owned());
        let sources = Sources {
            files: vec![
                file("crates/a/src/lib.rs", "//! A.\na\n    // why\nb\n#[cfg(test)]\nmod tests {\n}\n"),
                file("crates/a/src/x/tests.rs", "c\n"),
                file("crates/a/src/x.sql", "d\n"),
                file("crates/ab/src/lib.rs", "e\n"),
            ],
        };
        assert_eq!(lines(&sources, Path::new("crates/a/src")), 2);
    }
}
