//! `tidy`: the rules of the workspace that no compiler checks.
//!
//! Each finding names a file and a line. `edges` compares the dependencies with the layer table, `manifests` reads what a
//! registry shows, `sources` the source files, `cases` and `rules` the tables of edge cases and of rules, `paths` the paths
//! that documents name; `dialect` counts words and `sizes` the lines of the lowest crates.

mod cases;
mod dialect;
mod edges;
mod manifests;
mod paths;
mod pins;
mod rules;
mod sizes;
mod sources;
mod tables;

use std::path::{Path, PathBuf};

use crate::files::{below, read};
use crate::workspace::Workspace;
pub(crate) use dialect::{WORDS, count as count_words};
use pins::Pins;
pub(crate) use rules::undefined as undefined_rules;

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    file: PathBuf,
    line: usize,
    message: String,
}

/// The texts of the repository, by their paths from the root.
pub(crate) struct Sources {
    pub(crate) files: Vec<(PathBuf, String)>,
}

impl Sources {
    /// Reads sources, schemas, documents and lists.
    pub(crate) fn load(workspace: &Workspace) -> anyhow::Result<Self> {
        let files = below(&workspace.workspace_root, &["rs", "sql", "md", "txt"])?;
        let text = |file: PathBuf| Ok((workspace.relative(&file).to_path_buf(), read(&file)?));
        Ok(Self { files: files.into_iter().map(text).collect::<anyhow::Result<_>>()? })
    }

    fn find(&self, path: &str) -> Option<&str> {
        let index = self.files.binary_search_by(|(file, _)| file.as_path().cmp(Path::new(path))).ok()?;
        Some(&self.files[index].1)
    }

    /// The text of a file, empty when there is none.
    fn text(&self, path: &str) -> &str {
        self.find(path).unwrap_or_default()
    }
}

/// Prints every finding; true when there is none.
pub(crate) fn run() -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    let sources = Sources::load(&workspace)?;
    let pins = Pins::load(&workspace, &sources.files)?;
    let mut findings = edges::check(&workspace)?;
    findings.extend(manifests::check(&workspace));
    findings.extend(cases::check(&sources, &pins));
    findings.extend(rules::check(&sources, &pins));
    findings.extend(paths::check(&workspace, &sources)?);
    findings.extend(dialect::check(&sources));
    findings.extend(sizes::check(&sources));
    let mut files = 0;
    for package in &workspace.packages {
        let folder = workspace.relative(&package.folder().join("src")).to_path_buf();
        for (file, text) in sources.files.iter().filter(|(file, _)| file.starts_with(&folder)) {
            if file.extension().is_some_and(|extension| extension == "rs") {
                files += 1;
                findings.extend(sources::check(file, text));
            }
        }
    }
    for finding in &findings {
        println!("{}:{}: {}", workspace.relative(&finding.file).display(), finding.line, finding.message);
    }
    println!("tidy: {} crates, {files} files, {} findings", workspace.packages.len(), findings.len());
    Ok(findings.is_empty())
}
