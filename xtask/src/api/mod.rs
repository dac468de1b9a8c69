//! The public API of the published libraries, as text: one file for each crate, one line for each thing that users can name.
//!
//! The text is read from the sources: public items where they are defined, and re-exports. Items that a macro of the crate
//! makes are shown as the call of the macro. `tidy` fails if the files differ from the sources; `record` ties them to
//! the changelog.

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

/// How many differing lines of a crate are shown.
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

/// Writes the files again. Refuses a changed API while the changelog says nothing new.
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

/// Returns the files that are not what the sources say, with the first differing lines.
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

/// Returns the lines in which a stored file differs, in order.
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

/// The lines of a crate of one file.
#[cfg(test)]
pub(crate) fn lines_of(crate_: &str, text: &str) -> BTreeSet<Line> {
    let syntax = syn::parse_file(text).expect("a file");
    lines::of_crate(crate_, &[crate::syntax::Module { path: Vec::new(), syntax }])
}
