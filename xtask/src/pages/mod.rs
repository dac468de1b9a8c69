//! The pages of the documentation: links that lead somewhere, a table of contents with all of them, excerpts that are those of
//! the sources, and the book that mdBook makes of them.

mod anchors;
mod book;
mod excerpts;
mod links;
mod summary;

use std::path::{Path, PathBuf};

use crate::files::Sources;
use crate::workspace::Workspace;

pub(crate) use book::build;

/// The pages at the root that are checked beside those of `docs`.
const ABOVE: &[&str] = &["README.md", "CHANGELOG.md", "CONTRIBUTING.md"];

/// What is wrong in a page.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    file: PathBuf,
    line: usize,
    message: String,
}

/// Prints every fault; true when there is none.
pub(crate) fn check() -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    let sources = Sources::load(&workspace)?;
    let pages: Vec<(&Path, &str)> = sources.files.iter().filter(|(file, _)| is_page(file)).map(as_page).collect();
    let mut faults = links::check(&workspace.workspace_root, &pages);
    faults.extend(summary::check(&pages));
    faults.extend(excerpts::check(&sources, &pages));
    for Fault { file, line, message } in &faults {
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

/// The lines of a page with their numbers, without its blocks of code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        (!in_code && !is_fence).then_some((index + 1, line))
    })
}
