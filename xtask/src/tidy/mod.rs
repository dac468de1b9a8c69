//! `tidy`: checks the rules of the workspace that no compiler checks.
//!
//! Each finding names a file and a line. Each check has a module that documents it.

mod builds;
mod cancel;
mod edges;
mod exports;
mod manifests;
mod paths;
mod pins;
mod rules;
mod sizes;
mod sources;
mod tables;

use crate::api::{self, Snapshot};
use crate::files::Sources;
use crate::syntax::Parsed;
use crate::workspace::Workspace;
use pins::Pins;

/// Prints every finding; returns true if there is none.
pub(crate) fn run() -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    let sources = Sources::load(&workspace)?;
    let snapshot = Snapshot::of(&workspace, &Parsed::load(&workspace, &sources)?);
    let pins = Pins::load(&workspace, &sources.files)?;
    let mut findings = edges::check(&workspace)?;
    findings.extend(manifests::check(&workspace));
    findings.extend(builds::check(&workspace)?);
    findings.extend(rules::check(&sources, &pins));
    findings.extend(paths::check(&workspace, &sources)?);
    findings.extend(sizes::check(&sources));
    findings.extend(exports::check(&snapshot));
    findings.extend(api::check(&workspace, &snapshot)?);
    let mut files = 0;
    for package in &workspace.packages {
        let folder = workspace.relative(&package.folder().join("src")).to_path_buf();
        for (file, text) in sources.files.iter().filter(|(file, _)| file.starts_with(&folder)) {
            if file.extension().is_some_and(|extension| extension == "rs") {
                files += 1;
                findings.extend(sources::check(file, text));
                findings.extend(cancel::check(file, text));
            }
        }
    }
    for finding in &findings {
        println!("{}:{}: {}", workspace.relative(&finding.file).display(), finding.line, finding.message);
    }
    println!("tidy: {} crates, {files} files, {} findings", workspace.packages.len(), findings.len());
    Ok(findings.is_empty())
}
