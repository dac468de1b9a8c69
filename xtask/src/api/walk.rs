//! Which items of a crate a user reaches, and under which paths.

use std::collections::{BTreeMap, BTreeSet};

use syn::Item;

use super::lines::{is_hidden, marks};
use super::tree::{Path, Place, Target, Tree, attributes, below, is_public, name_of};
use crate::syntax::leaves;

/// A path under which users reach something, with the conditions (`#[cfg(…)]`) on the way there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shown {
    pub(super) length: usize,
    pub(super) path: String,
    pub(super) marks: Vec<String>,
}

/// What users reach.
#[derive(Debug, Default)]
pub(super) struct Reached {
    /// Items that the crate defines, each with its paths; the first one is the shortest.
    pub(super) items: BTreeMap<Place, BTreeSet<Shown>>,
    /// Items of other crates, by the path that they have there.
    pub(super) foreign: BTreeSet<(Shown, String)>,
}

/// Follows public modules and re-exports from the root of a crate.
pub(super) fn reach(tree: &Tree<'_>, crate_: &str) -> Reached {
    let mut walk = Walk { tree, reached: Reached::default(), open: Vec::new() };
    walk.module(&Vec::new(), &[crate_.to_owned()], &[]);
    for (module, items) in tree.scopes() {
        for (index, item) in items.iter().enumerate().filter(|(_, item)| is_exported_macro(item)) {
            let path = [crate_.to_owned(), name_of(item).unwrap_or_default()];
            walk.define((module.clone(), index), &path, &[]);
        }
    }
    walk.reached
}

fn is_exported_macro(item: &Item) -> bool {
    let exported = |attribute: &syn::Attribute| attribute.path().is_ident("macro_export");
    matches!(item, Item::Macro(item) if item.attrs.iter().any(exported) && !is_hidden(&item.attrs))
}

struct Walk<'t, 'a> {
    tree: &'t Tree<'a>,
    reached: Reached,
    /// The modules that are being read, so that a module that exports its parent ends.
    open: Vec<Path>,
}

impl Walk<'_, '_> {
    /// Reads what a module shows under a path.
    fn module(&mut self, module: &Path, shown: &[String], marks_above: &[String]) {
        if self.open.contains(module) {
            return;
        }
        self.open.push(module.clone());
        for (index, item) in self.tree.items(module).iter().enumerate() {
            if !is_public(item) || is_hidden(attributes(item)) {
                continue;
            }
            let marks: Vec<String> = marks_above.iter().cloned().chain(marks(item)).collect();
            match item {
                Item::Use(import) => {
                    for (path, alias) in leaves(&import.tree) {
                        self.import(module, &path, alias.as_deref(), shown, &marks);
                    }
                }
                item => {
                    let path = below(shown, &name_of(item).unwrap_or_default());
                    self.target(Target::Item((module.clone(), index)), &path, marks_above);
                }
            }
        }
        self.open.pop();
    }

    /// Reads one name of a `pub use`, or all names of a module.
    fn import(&mut self, module: &Path, path: &[String], alias: Option<&str>, shown: &[String], marks: &[String]) {
        for target in self.tree.find(module, path) {
            match (alias, self.tree.module_of(&target)) {
                (Some(alias), _) => self.target(target, &below(shown, alias), marks),
                (None, Some(scope)) => self.module(&scope, shown, marks),
                (None, None) => self.foreign(&below(shown, "*"), path, marks),
            }
        }
    }

    fn target(&mut self, target: Target, shown: &[String], marks: &[String]) {
        let scope = self.tree.module_of(&target);
        match (target, scope) {
            (Target::Elsewhere(path), _) => self.foreign(shown, &path, marks),
            (Target::Item(place), Some(scope)) => {
                let own = super::lines::marks(self.tree.item(&place));
                let marks: Vec<String> = marks.iter().cloned().chain(own).collect();
                self.define(place, shown, &marks);
                self.module(&scope, shown, &marks);
            }
            (Target::Item(place), None) => self.define(place, shown, marks),
            (Target::Root, _) => {}
        }
    }

    fn define(&mut self, place: Place, shown: &[String], marks: &[String]) {
        self.reached.items.entry(place).or_default().insert(named(shown, marks));
    }

    fn foreign(&mut self, shown: &[String], path: &[String], marks: &[String]) {
        self.reached.foreign.insert((named(shown, marks), path.join("::")));
    }
}

fn named(shown: &[String], marks: &[String]) -> Shown {
    // A `#[cfg(…)]` that a module and its re-export share counts once.
    let marks = BTreeSet::from_iter(marks.iter().cloned()).into_iter().collect();
    Shown { length: shown.len(), path: shown.join("::"), marks }
}
