//! Builds the book. mdBook gets a copy of the pages in which links to files outside `docs` lead to the repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::links::normal;
use crate::cargo::succeeds;
use crate::files::below;
use crate::workspace::Workspace;

/// The address of files outside the book.
const REPOSITORY: &str = "https://github.com/pleach/pleach/tree/main/";

/// The extensions of the files that belong to the book.
const EXTENSIONS: &[&str] = &["md", "svg", "toml"];

/// Builds the book in the target folder, with the program `mdbook`. Returns true if mdBook reports no fault.
pub(crate) fn build(mdbook: &Path) -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    let source = workspace.target_directory.join("book-source");
    if source.exists() {
        std::fs::remove_dir_all(&source).with_context(|| format!("cannot empty {}", source.display()))?;
    }
    for file in below(&workspace.workspace_root.join("docs"), EXTENSIONS)? {
        copy(workspace.relative(&file), &workspace.workspace_root, &source)?;
    }
    let target = workspace.target_directory.join("book");
    succeeds(Command::new(mdbook).arg("build").arg("--dest-dir").arg(target).arg(source))
}

/// Copies a file of `docs`.
fn copy(file: &Path, root: &Path, source: &Path) -> anyhow::Result<()> {
    let place = source.join(file.strip_prefix("docs")?);
    std::fs::create_dir_all(place.parent().unwrap_or(source))?;
    let text = std::fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {}", file.display()))?;
    let is_page = file.extension().is_some_and(|extension| extension == "md");
    let text = if is_page { with_links_to_the_repository(file, &text) } else { text };
    std::fs::write(&place, text).with_context(|| format!("cannot write {}", place.display()))
}

/// Returns the text of a page, with links out of `docs` changed to links to the repository.
fn with_links_to_the_repository(file: &Path, text: &str) -> String {
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut pieces = text.split("](");
    let mut changed = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        changed.push_str("](");
        let end = piece.find([')', ' ', '\n']).unwrap_or(piece.len());
        let (target, rest) = piece.split_at(end);
        match outside(folder, target) {
            Some(path) => changed.extend([REPOSITORY, &path.to_string_lossy(), rest]),
            None => changed.push_str(piece),
        }
    }
    changed
}

/// Returns the path of a link's target from the root, if the target is outside `docs`.
fn outside(folder: &Path, target: &str) -> Option<PathBuf> {
    let is_file = target.starts_with("../") && !target.contains("://");
    is_file.then(|| normal(&folder.join(target))).filter(|path| !path.starts_with("docs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_book_lead_to_the_repository() {
        let page = "[a](../README.md) [b](state.md#x) `c`\n[d](../examples/expenses), [e](https://x.org)";
        let expected = format!(
            "[a]({REPOSITORY}README.md) [b](state.md#x) `c`\n[d]({REPOSITORY}examples/expenses), [e](https://x.org)"
        );
        assert_eq!(with_links_to_the_repository(Path::new("docs/a.md"), page), expected);
        let decision = "[a](../sessions.md) [b](../../xtask)";
        let expected = format!("[a](../sessions.md) [b]({REPOSITORY}xtask)");
        assert_eq!(with_links_to_the_repository(Path::new("docs/adr/1.md"), decision), expected);
    }
}
