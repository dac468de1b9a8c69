//! `api`: writes the public API of the published libraries as text, with a file for each crate and a line for each
//! thing that users can name.
//!
//! The text comes from the sources: public items where they are defined, and re-exports. An item that a macro of the
//! crate defines is shown as the call of the macro. `tidy` fails if the files differ from the sources. `record` makes
//! sure that a change of the API has a line in the changelog.

mod lines;
mod record;
mod scopes;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;

use crate::files::{self, API, Sources};
use crate::finding::Finding;
use crate::layers::is_internal;
use crate::syntax::Parsed;
use crate::workspace::Workspace;
pub(crate) use lines::{Kind, Line};

/// The maximum number of differing lines that are shown of a crate.
const MOST_LINES: usize = 5;

/// The lines of each published library, by the name of its package.
pub(crate) struct Snapshot(pub(crate) BTreeMap<String, BTreeSet<Line>>);

impl Snapshot {
    pub(crate) fn of(workspace: &Workspace, parsed: &Parsed) -> Self {
        let published = workspace
            .packages
            .iter()
            .filter(|package| package.is_published() && package.is_library() && !is_internal(&package.name));
        let lines = published.map(|package| {
            let crate_ = package.name.replace('-', "_");
            (package.name.clone(), lines::of_crate(&crate_, parsed.of(package)))
        });
        Self(lines.collect())
    }

    /// Returns the name and the text of each file.
    fn files(&self) -> impl Iterator<Item = (String, String)> {
        self.0
            .iter()
            .map(|(name, lines)| (format!("{name}.txt"), lines.iter().map(|line| format!("{line}\n")).collect()))
    }
}

/// Writes the files. Refuses a changed API if the changelog has no new text.
pub(crate) fn run() -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    let sources = Sources::load(&workspace)?;
    let snapshot = Snapshot::of(&workspace, &Parsed::load(&workspace, &sources)?);
    let folder = workspace.workspace_root.join(API);
    let record = match record::next(&folder, snapshot.files(), sources.text(record::CHANGELOG)) {
        Ok(record) => record,
        Err(refusal) => {
            println!("api: {refusal}");
            return Ok(false);
        }
    };
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for file in files::below(&folder, &["txt"])? {
        std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    for (name, text) in snapshot.files().chain([(record::FILE.to_owned(), record)]) {
        let file = folder.join(name);
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let items = |lines: &BTreeSet<Line>| lines.iter().filter(|line| line.kind == Kind::Item).count();
    for (name, lines) in &snapshot.0 {
        println!("{name:<28} {:>6} public items", items(lines));
    }
    println!("api: {} crates, {} public items", snapshot.0.len(), snapshot.0.values().map(items).sum::<usize>());
    Ok(true)
}

/// Returns the files that differ from the sources, with the first differing lines.
pub(crate) fn check(workspace: &Workspace, snapshot: &Snapshot) -> anyhow::Result<Vec<Finding>> {
    let folder = workspace.workspace_root.join(API);
    let mut findings = Vec::new();
    for (name, text) in snapshot.files() {
        let file = Path::new(API).join(name);
        let stored = std::fs::read_to_string(workspace.workspace_root.join(&file)).unwrap_or_default();
        let found = differences(&stored, &text);
        let left = found.len().saturating_sub(MOST_LINES);
        let rest = (left > 0).then(|| (1, format!("and {left} more lines")));
        let shown = found.into_iter().take(MOST_LINES).chain(rest);
        findings.extend(shown.map(|(line, message)| Finding::new(&file, line, message)));
    }
    for file in files::below(&folder, &["txt"])? {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !snapshot.0.contains_key(&name) {
            findings.push(Finding::new(&file, 1, "no published library has this name: run `cargo xtask api`"));
        }
    }
    if findings.is_empty()
        && let Err(message) = record::check(&folder, snapshot.files())
    {
        findings.push(Finding::new(Path::new(API).join(record::FILE), 1, message));
    }
    Ok(findings)
}

/// Returns the lines in which a stored file differs from `text`, in order.
fn differences(stored: &str, text: &str) -> Vec<(usize, String)> {
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) = (stored.lines().collect(), text.lines().collect());
    let lost = stored.lines().enumerate().filter(|(_, line)| !new.contains(line));
    let lost = lost.map(|(index, line)| (line, index + 1, "no longer has"));
    let added = text.lines().enumerate().filter(|(_, line)| !old.contains(line));
    let added = added.map(|(index, line)| (line, index + 1, "also has"));
    let mut all: Vec<(&str, usize, &str)> = lost.chain(added).collect();
    all.sort_by_key(|(line, ..)| *line);
    let message = |(line, index, verb)| {
        (index, format!("the public API {verb} `{line}`: say so in CHANGELOG.md and run `cargo xtask api`"))
    };
    all.into_iter().map(message).collect()
}

#[cfg(test)]
mod tests;

/// Returns the lines of a crate that has a single file.
#[cfg(test)]
pub(crate) fn lines_of(crate_: &str, text: &str) -> BTreeSet<Line> {
    let syntax = syn::parse_file(text).expect("a file");
    lines::of_crate(crate_, &[crate::syntax::Module { path: Vec::new(), syntax }])
}
