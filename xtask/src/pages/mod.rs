//! Checks the pages of the documentation: their links, the table of contents, and excerpts from the sources. Builds the
//! book with mdBook.

mod anchors;
mod book;
mod excerpts;
mod links;
mod summary;

use std::path::{Path, PathBuf};

use crate::files::Sources;
use crate::finding::Finding;
use crate::workspace::Workspace;

pub(crate) use book::build;

/// The pages at the root, which are checked together with the pages of `docs`.
const ABOVE: &[&str] = &["README.md", "CHANGELOG.md", "CONTRIBUTING.md"];

/// Prints every fault; returns true if there is none.
pub(crate) fn check() -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    let sources = Sources::load(&workspace)?;
    let pages: Vec<(&Path, &str)> = sources.files.iter().filter(|(file, _)| is_page(file)).map(as_page).collect();
    let mut faults = links::check(&workspace.workspace_root, &pages);
    faults.extend(summary::check(&pages));
    faults.extend(excerpts::check(&sources, &pages));
    for Finding { file, line, message } in &faults {
        println!("{}:{line}: {message}", file.display());
    }
    println!("pages: {} pages, {} faults", pages.len(), faults.len());
    Ok(faults.is_empty())
}

fn is_page(file: &Path) -> bool {
    let is_markdown = file.extension().is_some_and(|extension| extension == "md");
    is_markdown && (file.starts_with("docs") || ABOVE.iter().any(|above| file == Path::new(above)))
}

fn as_page((file, text): &(PathBuf, String)) -> (&Path, &str) {
    (file, text)
}
