//! Lists and reads the files of the repository.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::workspace::Workspace;

/// Folders that are not part of the repository.
const SKIPPED: &[&str] = &["target", "node_modules"];

/// The folder with the snapshot of the public API.
pub(crate) const API: &str = "api";

/// The text files of the repository, with their paths from the root.
pub(crate) struct Sources {
    pub(crate) files: Vec<(PathBuf, String)>,
}

impl Sources {
    /// Reads sources, schemas, documents and lists.
    pub(crate) fn load(workspace: &Workspace) -> anyhow::Result<Self> {
        let mut files = below(&workspace.workspace_root, &["rs", "sql", "md", "txt"])?;
        // These files are generated from the sources, so they need no checks.
        files.retain(|file| !file.starts_with(workspace.workspace_root.join(API)));
        let text = |file: PathBuf| Ok((workspace.relative(&file).to_path_buf(), read(&file)?));
        Ok(Self { files: files.into_iter().map(text).collect::<anyhow::Result<_>>()? })
    }

    pub(crate) fn find(&self, path: &str) -> Option<&str> {
        let index = self.files.binary_search_by(|(file, _)| file.as_path().cmp(Path::new(path))).ok()?;
        Some(&self.files[index].1)
    }

    /// Returns the text of a file, or an empty text if the file does not exist.
    pub(crate) fn text(&self, path: &str) -> &str {
        self.find(path).unwrap_or_default()
    }
}

/// Returns all files below `folder` with one of these extensions, sorted. The list is empty if the folder does not
/// exist. Hidden folders are left out.
pub(crate) fn below(folder: &Path, extensions: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                if !name.starts_with('.') && !SKIPPED.contains(&&*name) {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|found| extensions.iter().any(|wanted| found == *wanted)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

pub(crate) fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Returns true if a file contains only tests: `tests.rs`, or anything below a folder `tests` in a `src` folder.
pub(crate) fn is_unit_tests(file: &Path) -> bool {
    let below_src =
        file.components().skip_while(|part| part.as_os_str() != "src").any(|part| part.as_os_str() == "tests");
    below_src || file.file_name().is_some_and(|name| name == "tests.rs")
}

pub(crate) fn is_rust(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs")
}

/// Returns the number of lines before the test module at the end of a source file.
pub(crate) fn code_lines(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    lines
        .windows(2)
        .position(|pair| pair[0].starts_with("#[cfg(test)]") && pair[1].starts_with("mod "))
        .unwrap_or(lines.len())
}

/// Returns the lines of a page with their numbers, without code blocks.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        (!in_code && !is_fence).then_some((index + 1, line))
    })
}

/// Returns the comment on a line of Rust. A `//` inside a string literal is not a comment.
pub(crate) fn comment(line: &str) -> Option<Comment<'_>> {
    let is_outside = |at: &usize| line[..*at].matches('"').count().is_multiple_of(2);
    let at = line.match_indices("//").map(|(at, _)| at).find(is_outside)?;
    let comment = &line[at..];
    let is_doc = comment.starts_with("//!") || (comment.starts_with("///") && !comment.starts_with("////"));
    Some(Comment { is_doc, text: comment.trim_start_matches(['/', '!']) })
}

/// A comment without its marks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Comment<'a> {
    /// Whether rustdoc shows it.
    pub(crate) is_doc: bool,
    pub(crate) text: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_told_from_strings_and_from_documentation() {
        let check = |line, expected: Option<(bool, &str)>| {
            let expected = expected.map(|(is_doc, text)| Comment { is_doc, text });
            assert_eq!(comment(line), expected, "{line}");
        };
        check("//! Owns a.", Some((true, " Owns a.")));
        check("    /// The b.", Some((true, " The b.")));
        check("    // R1", Some((false, " R1")));
        check("//////", Some((false, "")));
        check("let x = 1; // why", Some((false, " why")));
        check("connect(\"memory://x\"); // why", Some((false, " why")));
        check("connect(\"memory://x\");", None);
    }
}
