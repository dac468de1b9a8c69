//! [`Scopes`]: the modules of a crate, and the names in them that users can reach.
//!
//! Names are compared but not resolved: users can reach an item in a private module if a public module exports its
//! name. The compiler's lint `unreachable_pub` makes sure that `pub` items are reachable, so in practice only
//! `#[doc(hidden)]` hides an item.

use std::collections::BTreeSet;

use syn::visit_mut::VisitMut;
use syn::{Item, Visibility};

use crate::syntax::{self, Module, is_test, leaves};

/// The attributes that matter to users.
const SEEN: &[&str] =
    &["cfg", "deprecated", "derive", "non_exhaustive", "proc_macro", "proc_macro_attribute", "proc_macro_derive"];

pub(super) type Path = Vec<String>;

/// A module with its items. Function bodies, comments and attributes that do not matter to users are removed.
pub(super) struct Scope {
    pub(super) path: Path,
    pub(super) items: Vec<Item>,
}

pub(super) struct Scopes {
    pub(super) all: Vec<Scope>,
    /// The modules whose public items users can reach with a path or a glob.
    open: BTreeSet<Path>,
    /// The names that open modules export.
    exported: BTreeSet<String>,
}

impl Scopes {
    pub(super) fn new(modules: &[Module]) -> Self {
        let mut all = Vec::new();
        for module in modules {
            let mut file = module.syntax.clone();
            Strip.visit_file_mut(&mut file);
            add(&module.path, file.items, &mut all);
        }
        let mut scopes = Self { all, open: BTreeSet::from([Path::new()]), exported: BTreeSet::new() };
        while scopes.grow() {}
        scopes
    }

    /// Follows the exports of open modules one step further. Returns false if that finds nothing new.
    fn grow(&mut self) -> bool {
        let (mut open, mut exported) = (self.open.clone(), self.exported.clone());
        for scope in &self.all {
            let is_open = self.open.contains(&scope.path);
            for item in scope.items.iter().filter(|item| is_shown(item)) {
                match item {
                    Item::Mod(inner) if is_open || self.exported.contains(&inner.ident.to_string()) => {
                        open.insert(child(&scope.path, &inner.ident));
                    }
                    Item::Use(import) if is_open => {
                        for (path, alias) in leaves(&import.tree) {
                            let name = path.last().cloned().unwrap_or_default();
                            match alias {
                                Some(_) => drop(exported.insert(name)),
                                None => open.extend(self.named(&name)),
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        let has_grown = open.len() > self.open.len() || exported.len() > self.exported.len();
        (self.open, self.exported) = (open, exported);
        has_grown
    }

    /// Returns the modules with this name.
    fn named(&self, name: &str) -> impl Iterator<Item = Path> {
        self.all
            .iter()
            .filter(move |scope| scope.path.last().is_some_and(|last| last == name))
            .map(|scope| scope.path.clone())
    }

    pub(super) fn is_open(&self, scope: &Scope) -> bool {
        self.open.contains(&scope.path)
    }

    /// Returns true if users can reach the item with this name in a module.
    pub(super) fn reaches(&self, scope: &Scope, name: &str) -> bool {
        self.is_open(scope) || self.exported.contains(name)
    }

    /// Returns true if a path that begins with this name in a module stays within the crate.
    pub(super) fn is_own(&self, scope: &Scope, first: &str) -> bool {
        let is_child =
            |path: &Path| path.split_last().is_some_and(|(name, above)| name == first && above == scope.path);
        matches!(first, "crate" | "self" | "super") || self.all.iter().any(|scope| is_child(&scope.path))
    }

    /// Returns the public part of a module's path, after the name of the crate.
    pub(super) fn public_path(&self, crate_: &str, path: &[String]) -> Path {
        let Some((name, above)) = path.split_last() else { return vec![crate_.to_owned()] };
        let declared = self.all.iter().filter(|scope| scope.path == above).flat_map(|scope| &scope.items);
        let is_public = |item: &Item| matches!(item, Item::Mod(inner) if inner.ident == name && is_shown(item));
        if self.open.contains(path) && declared.into_iter().any(is_public) {
            let mut public = self.public_path(crate_, above);
            public.push(name.clone());
            return public;
        }
        vec![crate_.to_owned()]
    }
}

/// Adds a module, and the modules that are defined in its file.
fn add(path: &Path, items: Vec<Item>, all: &mut Vec<Scope>) {
    let items: Vec<Item> =
        items.into_iter().filter(|item| !matches!(item, Item::Mod(inner) if is_test(&inner.attrs))).collect();
    for item in &items {
        if let Item::Mod(inner) = item
            && let Some((_, items)) = &inner.content
        {
            add(&child(path, &inner.ident), items.clone(), all);
        }
    }
    all.push(Scope { path: path.clone(), items });
}

fn child(path: &Path, name: &syn::Ident) -> Path {
    path.iter().cloned().chain([name.to_string()]).collect()
}

/// Removes function bodies, and attributes that do not matter to users, except `#[doc(hidden)]`.
struct Strip;

impl VisitMut for Strip {
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<syn::Attribute>) {
        attributes.retain(|attribute| {
            let is_seen = SEEN.iter().any(|name| attribute.path().is_ident(name));
            is_seen || attribute.path().is_ident("macro_export") || is_hiding(attribute)
        });
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.clear();
    }
}

fn is_hiding(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("doc")
        && attribute.parse_args::<syn::Path>().is_ok_and(|argument| argument.is_ident("hidden"))
}

/// Returns true if the documentation leaves out an item, so that users should not rely on it.
pub(super) fn is_hidden(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(is_hiding)
}

/// Returns true for a public item that the documentation shows.
pub(super) fn is_shown(item: &Item) -> bool {
    let (visibility, attributes): (&Visibility, _) = match item {
        Item::Const(item) => (&item.vis, &item.attrs),
        Item::Enum(item) => (&item.vis, &item.attrs),
        Item::Fn(item) => (&item.vis, &item.attrs),
        Item::Mod(item) => (&item.vis, &item.attrs),
        Item::Static(item) => (&item.vis, &item.attrs),
        Item::Struct(item) => (&item.vis, &item.attrs),
        Item::Trait(item) => (&item.vis, &item.attrs),
        Item::Type(item) => (&item.vis, &item.attrs),
        Item::Use(item) => (&item.vis, &item.attrs),
        _ => return false,
    };
    syntax::is_public(visibility) && !is_hidden(attributes)
}
