//! `tidy`: the rules of the workspace that no compiler checks.
//!
//! Each finding names a file and a line. `edges` compares the dependencies with the
//! layer table, `sources` reads the source files, `cases` the table of edge cases.

mod cases;
mod edges;
mod sources;

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::workspace::Workspace;

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    file: PathBuf,
    line: usize,
    message: String,
}

/// Prints every finding; true when there is none.
pub(crate) fn run() -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    let mut findings = edges::check(&workspace)?;
    findings.extend(cases::check(&workspace)?);
    let mut files = 0;
    for package in &workspace.packages {
        for file in rust_files(&package.folder().join("src"))? {
            let text = read(&file)?;
            files += 1;
            findings.extend(sources::check(workspace.relative(&file), &text));
        }
    }
    for finding in &findings {
        println!("{}:{}: {}", workspace.relative(&finding.file).display(), finding.line, finding.message);
    }
    println!("tidy: {} crates, {files} files, {} findings", workspace.packages.len(), findings.len());
    Ok(findings.is_empty())
}

fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Every `.rs` file below `folder`, sorted; empty when there is no such folder.
fn rust_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
