//! Circles of imports between the files of a crate.
//!
//! A file depends on another one when it imports or names something that is defined there; re-exports are followed to the
//! definition and are no dependency by themselves. Files that reach each other form a circle. The files of a folder in
//! [`DEFINITIONS`] count as one.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Item, UseTree};

use super::items::is_public;
use super::source::{Module, is_test};

/// How many re-exports are followed to a definition.
const MOST_HOPS: usize = 16;

/// Folders of types and traits that refer to each other by their nature, so that no order of files has only imports in one
/// direction. What keeps such a folder small is that it holds definitions only, which `tidy` checks.
pub(crate) const DEFINITIONS: &[&str] = &["crates/pleach-context/src/contract"];

type Path = Vec<String>;

/// What the files of a crate define and re-export.
struct Crate<'a> {
    modules: &'a [Module],
    /// The file of each module, modules inside of files included.
    files: BTreeMap<Path, usize>,
    /// The names that `use` brings into a module, with their paths from the crate's root.
    names: BTreeMap<(Path, String), Path>,
    /// The modules whose items `use …::*` brings into a module.
    globs: BTreeMap<Path, Vec<Path>>,
    /// The names of items that are defined in a module.
    items: BTreeSet<(Path, String)>,
}

/// The circles, each with the names of its modules.
pub(crate) fn circles(modules: &[Module]) -> Vec<Vec<String>> {
    let mut all = Crate {
        modules,
        files: modules.iter().enumerate().map(|(index, module)| (module.path.clone(), index)).collect(),
        names: BTreeMap::new(),
        globs: BTreeMap::new(),
        items: BTreeSet::new(),
    };
    for (index, module) in modules.iter().enumerate() {
        all.define(index, &module.path, &module.syntax.items);
    }
    let mut used: Vec<BTreeSet<usize>> = (0..modules.len()).map(|index| all.used_by(index)).collect();
    for folder in DEFINITIONS {
        join(&mut used, |index| modules[index].file.starts_with(folder));
    }
    components(&used).into_iter().map(|files| files.into_iter().map(|index| name(&modules[index])).collect()).collect()
}

/// Makes one module of some: the first of them uses what any of them uses, and is used in their place.
fn join(used: &mut [BTreeSet<usize>], is_part: impl Fn(usize) -> bool) {
    let Some(first) = (0..used.len()).find(|index| is_part(*index)) else { return };
    let of_parts: BTreeSet<usize> =
        (0..used.len()).filter(|index| is_part(*index)).flat_map(|index| std::mem::take(&mut used[index])).collect();
    used[first] = of_parts;
    for uses in used.iter_mut() {
        *uses = uses.iter().map(|index| if is_part(*index) { first } else { *index }).collect();
    }
    used[first].remove(&first);
}

fn name(module: &Module) -> String {
    if module.path.is_empty() { "the root".to_owned() } else { module.path.join("::") }
}

impl Crate<'_> {
    fn define(&mut self, file: usize, module: &Path, items: &[Item]) {
        for item in items {
            match item {
                Item::Mod(inner) if !is_test(&inner.attrs) => {
                    if let Some((_, items)) = &inner.content {
                        let path = child(module, &inner.ident.to_string());
                        self.files.insert(path.clone(), file);
                        self.define(file, &path, items);
                    }
                }
                Item::Use(import) => {
                    for (path, name) in leaves(&import.tree) {
                        let Some(path) = self.absolute(module, path) else { continue };
                        match name {
                            Some(name) => drop(self.names.insert((module.clone(), name), path)),
                            None => self.globs.entry(module.clone()).or_default().push(path),
                        }
                    }
                }
                _ => self.items.extend(item_name(item).map(|name| (module.clone(), name))),
            }
        }
    }

    /// A path from the crate's root; `None` when it leads to another crate.
    fn absolute(&self, module: &Path, path: Path) -> Option<Path> {
        let mut base = module.clone();
        let mut rest = path.as_slice();
        match rest.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {}
            first if self.files.contains_key(&child(module, first)) => {}
            _ => return None,
        }
        while rest.first().is_some_and(|first| first == "super") {
            base.pop()?;
            rest = &rest[1..];
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// The file that defines what a path from the root names.
    fn definition(&self, path: &Path, hops: usize) -> Option<usize> {
        let depth = (0..=path.len()).rev().find(|depth| self.files.contains_key(&path[..*depth]))?;
        let (module, rest) = path.split_at(depth);
        let module = module.to_vec();
        let file = self.files.get(&module).copied();
        let Some(first) = rest.first().filter(|_| hops < MOST_HOPS) else { return file };
        if self.items.contains(&(module.clone(), first.clone())) {
            return file;
        }
        let onward = |target: &Path, rest: &[String]| {
            let target = target.iter().chain(rest).cloned().collect();
            self.definition(&target, hops + 1)
        };
        if let Some(target) = self.names.get(&(module.clone(), first.clone())) {
            return onward(target, &rest[1..]);
        }
        let globs = self.globs.get(&module).into_iter().flatten();
        let mut found = globs.filter(|target| self.defines(target, first)).filter_map(|target| onward(target, rest));
        found.next().or(file)
    }

    fn defines(&self, module: &Path, name: &str) -> bool {
        let key = (module.clone(), name.to_owned());
        self.items.contains(&key) || self.names.contains_key(&key)
    }

    /// The other files whose items a file names.
    fn used_by(&self, index: usize) -> BTreeSet<usize> {
        let module = &self.modules[index];
        let mut uses = Uses { all: self, module: module.path.clone(), found: BTreeSet::new() };
        uses.visit_file(&module.syntax);
        uses.found.remove(&index);
        uses.found
    }
}

/// Collects the files that a file uses.
struct Uses<'a> {
    all: &'a Crate<'a>,
    module: Path,
    found: BTreeSet<usize>,
}

impl Uses<'_> {
    fn add(&mut self, path: Path) {
        let absolute = self.all.absolute(&self.module, path);
        self.found.extend(absolute.and_then(|path| self.all.definition(&path, 0)));
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) && module.content.is_some() {
            self.module.push(module.ident.to_string());
            visit::visit_item_mod(self, module);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        let reexports = is_public(&import.vis) || matches!(import.vis, syn::Visibility::Restricted(_));
        if !reexports && !is_test(&import.attrs) {
            leaves(&import.tree).into_iter().for_each(|(path, _)| self.add(path));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.add(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }
}

/// What a `use` names: the full paths, each with the name it gets; `None` for all names of a module.
pub(crate) fn leaves(tree: &UseTree) -> Vec<(Path, Option<String>)> {
    let below = |name: String, inner: Vec<(Path, Option<String>)>| {
        let join = |(path, alias): (Path, Option<String>)| (std::iter::once(name.clone()).chain(path).collect(), alias);
        inner.into_iter().map(join).collect()
    };
    match tree {
        UseTree::Path(path) => {
            let name = path.ident.to_string();
            // `a::{self}` names `a` itself.
            let own = |(inner, alias): (Path, Option<String>)| match inner.first() {
                Some(first) if first == "self" && inner.len() == 1 => {
                    (Vec::new(), alias.map(|alias| if alias == "self" { name.clone() } else { alias }))
                }
                _ => (inner, alias),
            };
            below(name.clone(), leaves(&path.tree).into_iter().map(own).collect())
        }
        UseTree::Name(leaf) => vec![(vec![leaf.ident.to_string()], Some(leaf.ident.to_string()))],
        UseTree::Rename(leaf) => vec![(vec![leaf.ident.to_string()], Some(leaf.rename.to_string()))],
        UseTree::Glob(_) => vec![(Vec::new(), None)],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

fn child(module: &Path, name: &str) -> Path {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// The name of an item that is no module.
pub(crate) fn item_name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Fn(item) => &item.sig.ident,
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Const(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(ident.to_string())
}

/// Groups of two or more that reach each other.
fn components(used: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let reached: Vec<BTreeSet<usize>> = (0..used.len()).map(|start| reach(used, start)).collect();
    let mut groups = BTreeSet::new();
    for (start, reaches) in reached.iter().enumerate() {
        let group: Vec<usize> = reaches.iter().copied().filter(|other| reached[*other].contains(&start)).collect();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

/// What a file reaches by its imports, one step or more.
fn reach(used: &[BTreeSet<usize>], start: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<usize> = used[start].iter().copied().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(&used[next]);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let module = |(path, text): &(&str, &str)| Module {
            path: path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            file: path.into(),
            syntax: syn::parse_file(text).expect("a file"),
        };
        circles(&files.iter().map(module).collect::<Vec<_>>())
    }

    #[test]
    fn imports_in_one_direction_are_no_circle() {
        assert_eq!(
            of(&[("", "mod a; mod b;"), ("a", "use crate::b::B;"), ("b", "pub struct B; use std::fmt;")]),
            [] as [Vec<String>; 0]
        );
    }

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let files = [
            ("", "mod a; mod b; mod c;"),
            ("a", "use crate::b::B; pub struct A;"),
            ("b", "use super::c::{C, D as E}; pub struct B;"),
            ("c", "pub struct C; pub struct D; fn f() { crate::a::A; }"),
        ];
        assert_eq!(of(&files), [["a", "b", "c"]]);
    }

    #[test]
    fn reexports_lead_to_the_definition_and_are_no_dependency() {
        let files = [
            ("", "mod a; pub use a::{A, B};"),
            ("a", "mod one; mod two; pub use one::A; pub(crate) use two::*;"),
            ("a::one", "use crate::B; pub struct A;"),
            ("a::two", "pub struct B;"),
        ];
        assert_eq!(of(&files), [] as [Vec<String>; 0]);
        let circle = [files[0], files[1], files[2], ("a::two", "use crate::a::A; pub struct B;")];
        assert_eq!(of(&circle), [["a::one", "a::two"]]);
    }

    #[test]
    fn a_child_that_uses_its_parents_items_is_in_a_circle_with_it() {
        let files = [("", "mod a;"), ("a", "mod b; pub struct A; use b::B;"), ("a::b", "use super::A; pub struct B;")];
        assert_eq!(of(&files), [["a", "a::b"]]);
    }

    #[test]
    fn the_files_of_a_folder_of_definitions_are_one_module() {
        let folder = DEFINITIONS[0];
        let module = |file: String, path: &[&str], text: &str| Module {
            path: path.iter().map(|name| (*name).to_owned()).collect(),
            file: file.into(),
            syntax: syn::parse_file(text).expect("a file"),
        };
        let root = || module("lib.rs".into(), &[], "mod contract; mod other;");
        let folder_of = |b: &str| {
            [
                module(format!("{folder}/mod.rs"), &["contract"], "mod a; mod b; pub use a::A; pub use b::B;"),
                module(format!("{folder}/a.rs"), &["contract", "a"], "use super::B; pub struct A;"),
                module(format!("{folder}/b.rs"), &["contract", "b"], b),
            ]
        };
        let other = || module("other.rs".into(), &["other"], "use crate::contract::A; pub struct Other;");
        let alone = Vec::from_iter([root(), other()].into_iter().chain(folder_of("use super::A; pub struct B;")));
        assert_eq!(circles(&alone), [] as [Vec<String>; 0]);
        let imports_back = "use super::A; use crate::other::Other; pub struct B;";
        let both = Vec::from_iter([root(), other()].into_iter().chain(folder_of(imports_back)));
        assert_eq!(circles(&both), [["other", "contract"]]);
    }

    #[test]
    fn tests_do_not_count() {
        let files = [
            ("", "mod a; mod b;"),
            ("a", "use crate::b::B; pub struct A;"),
            ("b", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }"),
        ];
        assert_eq!(of(&files), [] as [Vec<String>; 0]);
    }
}
