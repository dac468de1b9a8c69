//! `api`: the public API of the published libraries, as text: one file for each crate, one line for each thing that a user can name.
//!
//! The text is read from the sources. It shows what is reached from the root of the crate, under the shortest path, through re-exports.
//! Items that a macro of the crate makes are shown as the call of the macro. What a trait implementation of another crate's type, or a blanket implementation in
//! another crate, gives is not shown. `tidy` fails when the files are not those of the sources; `record` ties them to the changelog.

mod lines;
mod record;
mod text;
mod tree;
mod walk;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use syn::Item;

use crate::files::{self, API, Sources};
use crate::syntax::{Module, Parsed};
use crate::workspace::{Package, Workspace};
use tree::{Place, Target, Tree};
use walk::Reached;

/// How many differing lines of a crate are shown.
const MOST_LINES: usize = 5;

/// A crate's file that is not what the sources say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stale {
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// Writes the files anew. Refuses a changed API while the changelog says nothing new.
pub(crate) fn run() -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    let sources = Sources::load(&workspace)?;
    let snapshot = snapshot(&workspace, &Parsed::load(&workspace, &sources)?);
    let folder = workspace.workspace_root.join(API);
    let texts = || snapshot.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let record = match record::next(&folder, texts(), sources.text(record::CHANGELOG)) {
        Ok(record) => record,
        Err(refusal) => {
            println!("api: {refusal}");
            return Ok(false);
        }
    };
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for file in files::below(&folder, &["txt"])? {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !snapshot.iter().any(|(own, _)| *own == name) {
            std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
    }
    for (name, text) in &snapshot {
        let file = folder.join(format!("{name}.txt"));
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    std::fs::write(folder.join(record::FILE), record).context("cannot write the record")?;
    let lines: usize = snapshot.iter().map(|(_, text)| text.lines().count()).sum();
    println!("api: {} crates, {lines} lines", snapshot.len());
    Ok(true)
}

/// The files that are not what the sources say, with the first differing lines.
pub(crate) fn check(workspace: &Workspace, parsed: &Parsed) -> anyhow::Result<Vec<Stale>> {
    let snapshot = snapshot(workspace, parsed);
    let mut stale = Vec::new();
    let folder = workspace.workspace_root.join(API);
    for (name, text) in &snapshot {
        let file = Path::new(API).join(format!("{name}.txt"));
        let stored = std::fs::read_to_string(workspace.workspace_root.join(&file)).unwrap_or_default();
        let found = differences(&stored, text);
        let left = found.len().saturating_sub(MOST_LINES);
        for (line, message) in found.into_iter().take(MOST_LINES) {
            stale.push(Stale { file: file.clone(), line, message });
        }
        if left > 0 {
            stale.push(Stale { file, line: 1, message: format!("and {left} lines more") });
        }
    }
    for file in files::below(&folder, &["txt"])? {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !snapshot.iter().any(|(own, _)| *own == name) {
            let file = workspace.relative(&file).to_path_buf();
            stale.push(Stale {
                file,
                line: 1,
                message: "it is of no published library: run `cargo xtask api`".to_owned(),
            });
        }
    }
    let texts = snapshot.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    if stale.is_empty()
        && let Err(message) = record::check(&folder, texts)
    {
        stale.push(Stale { file: Path::new(API).join(record::FILE), line: 1, message });
    }
    Ok(stale)
}

/// The lines in which a stored file differs, in order.
fn differences(stored: &str, text: &str) -> Vec<(usize, String)> {
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) = (stored.lines().collect(), text.lines().collect());
    let lost = stored.lines().enumerate().filter(|(_, line)| !new.contains(line));
    let lost = lost.map(|(index, line)| (index + 1, line, format!("the public API no longer has `{line}`")));
    let added = text.lines().enumerate().filter(|(_, line)| !old.contains(line));
    let added = added.map(|(index, line)| (index + 1, line, format!("the public API also has `{line}`")));
    let mut all: Vec<(usize, &str, String)> = lost.chain(added).collect();
    all.sort_by(|a, b| a.1.cmp(b.1));
    let advice = ": say so in CHANGELOG.md and run `cargo xtask api`";
    all.into_iter().map(|(index, _, message)| (index, message + advice)).collect()
}

/// The name and the text of each published library.
fn snapshot(workspace: &Workspace, parsed: &Parsed) -> Vec<(String, String)> {
    let published = workspace.packages.iter().filter(|package| package.is_published() && package.is_library());
    let text = |package: &Package| of_modules(&package.name.replace('-', "_"), parsed.of(package));
    let mut texts: Vec<(String, String)> = published.map(|package| (package.name.clone(), text(package))).collect();
    texts.sort();
    texts
}

/// The public API of a crate, sorted, with a line for each part.
fn of_modules(crate_: &str, modules: &[Module]) -> String {
    let tree = Tree::new(modules);
    let reached = walk::reach(&tree, crate_);
    let mut lines = BTreeSet::new();
    for (place, shown) in &reached.items {
        let Some(first) = shown.first() else { continue };
        let marks = marked(&first.marks, &lines::marks(tree.item(place)));
        for (index, (suffix, text)) in lines::of(tree.item(place)).into_iter().enumerate() {
            let marks = if index == 0 { marks.as_str() } else { "" };
            lines.insert(format!("{}{suffix}: {marks}{text}", first.path));
        }
        for other in shown.iter().skip(1) {
            lines.insert(format!("{}: {}use {}", other.path, marked(&other.marks, &[]), first.path));
        }
    }
    for (shown, path) in &reached.foreign {
        lines.insert(format!("{}: {}use {path}", shown.path, marked(&shown.marks, &[])));
    }
    for (module, items) in tree.scopes() {
        for item in items {
            if let Item::Impl(block) = item
                && let Some(owner) = owner(&tree, &reached, module, block)
            {
                lines
                    .extend(lines::of_impl(block).into_iter().map(|(suffix, text)| format!("{owner}{suffix}: {text}")));
            }
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Attributes on the way to an item and its own, each once, before the text of a line.
fn marked(above: &[String], own: &[String]) -> String {
    let all: BTreeSet<&String> = above.iter().chain(own).collect();
    all.into_iter().map(|mark| format!("{mark} ")).collect()
}

/// The path of the item that an `impl` block belongs to: that of its type, or for a type of another crate that of the trait.
fn owner(tree: &Tree<'_>, reached: &Reached, module: &tree::Path, block: &syn::ItemImpl) -> Option<String> {
    let shown = |place: &Place| Some(reached.items.get(place)?.first()?.path.clone());
    let place = |path: &syn::Path| {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        tree.find(module, &names).into_iter().find_map(|target| match target {
            Target::Item(place) => Some(place),
            _ => None,
        })
    };
    let own_trait = block.trait_.as_ref().and_then(|(path, _)| place(path));
    match &*block.self_ty {
        syn::Type::Path(ty) => match place(&ty.path) {
            Some(place) => shown(&place),
            None => shown(&own_trait?),
        },
        _ => shown(&own_trait?),
    }
}

#[cfg(test)]
mod tests;
