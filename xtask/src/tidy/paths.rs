//! Checks paths in documents: every file that a page names must exist.
//!
//! A path is a name in backticks that ends in `/`, begins with a folder of the repository, or has the extension of a
//! source file. If it does not begin with such a folder, it may be the end of any path, for example `event/mod.rs`.
//! Code blocks are not read. `docs` checks links.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::files::{Sources, prose};
use crate::finding::Finding;
use crate::workspace::Workspace;

/// The extensions that make a name in backticks a path.
const EXTENSIONS: &[&str] = &["rs", "md", "toml", "sql", "py"];

/// The files and folders of the repository, from its root.
struct Tree {
    paths: BTreeSet<PathBuf>,
}

pub(super) fn check(workspace: &Workspace, sources: &Sources) -> anyhow::Result<Vec<Finding>> {
    let tree = Tree::load(&workspace.workspace_root)?;
    let pages = sources.files.iter().filter(|(file, _)| is_page(file));
    Ok(pages
        .flat_map(|(file, text)| {
            let faults = faults(text, &tree).into_iter();
            faults.map(|(line, message)| Finding { file: file.clone(), line, message })
        })
        .collect())
}

/// Returns true for documents that must be up to date. The changelog is history.
fn is_page(file: &Path) -> bool {
    let is_markdown = file.extension().is_some_and(|extension| extension == "md");
    let is_above = file.components().count() == 1 && file != Path::new("CHANGELOG.md");
    is_markdown && (is_above || file.starts_with("docs"))
}

fn faults(text: &str, tree: &Tree) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    for (line, text) in prose(text) {
        let lost = names(text).filter(|name| tree.is_path(name) && !tree.has_end(name));
        faults.extend(lost.map(|name| (line, format!("`{name}` does not exist"))));
    }
    faults
}

/// Returns the names in backticks.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

impl Tree {
    fn load(root: &Path) -> anyhow::Result<Self> {
        let mut paths = BTreeSet::new();
        let mut open = vec![PathBuf::new()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(root.join(&folder))? {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                if entry.file_type()?.is_dir() && path != Path::new("target") && path != Path::new(".git") {
                    open.push(path.clone());
                }
                paths.insert(path);
            }
        }
        Ok(Self { paths })
    }

    /// Returns true if a name looks like a path of the repository.
    fn is_path(&self, name: &str) -> bool {
        let is_plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
        let path = Path::new(name);
        let first = path.components().next().map(|first| Path::new(first.as_os_str()));
        let in_folder = name.contains('/') && first.is_some_and(|first| self.paths.contains(first));
        let is_source = path.extension().is_some_and(|found| EXTENSIONS.iter().any(|known| found == *known));
        is_plain && !name.starts_with('/') && (in_folder || is_source || (name.ends_with('/') && name.len() > 1))
    }

    /// Returns true if a path of the repository ends with these names.
    fn has_end(&self, name: &str) -> bool {
        self.paths.iter().any(|path| path.ends_with(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Vec<String> {
        let paths = [
            "docs",
            "docs/a.md",
            "docs/adr",
            "crates",
            "crates/x",
            "crates/x/src",
            "crates/x/src/event",
            "crates/x/src/event/mod.rs",
            "README.md",
        ];
        let tree = Tree { paths: paths.iter().map(PathBuf::from).collect() };
        faults(line, &tree).into_iter().map(|(_, message)| message).collect()
    }

    #[test]
    fn paths_in_backticks_exist() {
        assert_eq!(of("`docs/a.md`, `event/mod.rs`, `event/`, `crates/x`, `mod.rs`"), [] as [&str; 0]);
        assert_eq!(of("`docs/b.md` and `gone/`"), ["`docs/b.md` does not exist", "`gone/` does not exist"]);
        assert_eq!(of("`lost.rs`"), ["`lost.rs` does not exist"]);
        assert_eq!(of("`sqlite:///FILE`, `a / b`, `crates`, `name@1/x`, `/`, `a.b`"), [] as [&str; 0]);
        assert_eq!(of("```toml\n`docs/b.md`\n```\n"), [] as [&str; 0]);
    }
}
