//! The facade exports every type that the signatures of its items name: a user can name what a function takes and returns.
//!
//! Types are compared by their names, and only those that a library crate of the workspace defines as public.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{ImplItem, Item, Signature, TraitItem, UseTree};

use super::finding::Finding;
use crate::syntax::{Module, Parsed, is_public, is_test};
use crate::workspace::Workspace;

const FACADE: &str = "pleach";

/// Types that no user needs to name, with the reason.
const NOT_NAMED: &[(&str, &str)] = &[
    ("AnswerState", "engines read a history; a node only passes it on"),
    ("PlannedRuns", "only engines make plans"),
    ("RecordedRun", "engines read a history; a node only passes it on"),
    ("RunKey", "engines read a history; a node only passes it on"),
    ("RunRecord", "engines read a history; a node only passes it on"),
    ("End", "only the builder of workflows reads the end of an edge"),
];

/// A crate, as `use` names it, and the name of an item.
type Export = (String, String);

/// The public types of the libraries: where each is defined, and the types that its public signatures name.
#[derive(Debug, Default)]
struct Surface {
    /// The crate that is read, as `use` names it.
    crate_: String,
    defined: BTreeMap<String, std::path::PathBuf>,
    /// Also of functions, by crate and name.
    named: BTreeMap<Export, BTreeSet<String>>,
    /// The items of each module, by the module's name: what `pub use crate::module` exports.
    modules: BTreeMap<Export, BTreeSet<String>>,
}

pub(super) fn check(workspace: &Workspace, parsed: &Parsed) -> Vec<Finding> {
    let mut surface = Surface::default();
    let mut exported = BTreeSet::new();
    for package in workspace.packages.iter().filter(|package| package.is_published()) {
        surface.crate_ = package.name.replace('-', "_");
        for module in parsed.of(package) {
            if package.name == FACADE {
                module.syntax.items.iter().for_each(|item| exports(item, &mut exported));
            }
            surface.read(module);
        }
    }
    surface.missing(&exported)
}

/// Adds the names that a `pub use` exports.
fn exports(item: &Item, exported: &mut BTreeSet<Export>) {
    match item {
        Item::Use(syn::ItemUse { vis, tree: UseTree::Path(path), .. }) if is_public(vis) => {
            let mut names = BTreeSet::new();
            leaves(&path.tree, &mut names);
            exported.extend(names.into_iter().map(|name| (path.ident.to_string(), name)));
        }
        Item::Mod(module) if is_public(&module.vis) => {
            module.content.iter().flat_map(|(_, items)| items).for_each(|item| exports(item, exported));
        }
        _ => {}
    }
}

fn leaves(tree: &UseTree, names: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => leaves(&path.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, names)),
        UseTree::Name(name) => drop(names.insert(name.ident.to_string())),
        UseTree::Rename(name) => drop(names.insert(name.ident.to_string())),
        UseTree::Glob(_) => {}
    }
}

impl Surface {
    fn read(&mut self, module: &Module) {
        for item in &module.syntax.items {
            self.item(item, module);
        }
    }

    fn item(&mut self, item: &Item, module: &Module) {
        let mut names = Names::default();
        let (name, is_type) = match item {
            Item::Struct(item) if is_public(&item.vis) => {
                item.fields.iter().filter(|field| is_public(&field.vis)).for_each(|field| names.visit_type(&field.ty));
                names.visit_generics(&item.generics);
                (&item.ident, true)
            }
            Item::Enum(item) if is_public(&item.vis) => {
                item.variants.iter().flat_map(|variant| &variant.fields).for_each(|field| names.visit_type(&field.ty));
                (&item.ident, true)
            }
            Item::Type(item) if is_public(&item.vis) => {
                names.visit_type(&item.ty);
                (&item.ident, true)
            }
            Item::Trait(item) if is_public(&item.vis) => {
                item.items.iter().for_each(|member| names.member_of_trait(member));
                (&item.ident, true)
            }
            Item::Fn(item) if is_public(&item.vis) => {
                names.signature(&item.sig);
                (&item.sig.ident, false)
            }
            Item::Impl(block) if block.trait_.is_none() => {
                let Some(owner) = type_name(&block.self_ty) else { return };
                block.items.iter().for_each(|member| names.member(member));
                names.hide(&block.generics);
                self.named.entry((self.crate_.clone(), owner)).or_default().extend(names.0);
                return;
            }
            Item::Mod(inner) if !is_test(&inner.attrs) => {
                inner.content.iter().flat_map(|(_, items)| items).for_each(|item| self.item(item, module));
                return;
            }
            _ => return,
        };
        let name = name.to_string();
        self.named.entry((self.crate_.clone(), name.clone())).or_default().extend(names.0);
        for part in &module.path {
            self.modules.entry((self.crate_.clone(), part.clone())).or_default().insert(name.clone());
        }
        if is_type {
            self.defined.entry(name).or_insert_with(|| module.file.clone());
        }
    }

    /// Returns the types that exported items name and the facade does not export.
    fn missing(&self, exported: &BTreeSet<Export>) -> Vec<Finding> {
        // `tool` is a function and a module: an item's name does not export the module.
        let is_module = |export: &&Export| !self.named.contains_key(*export);
        let items_of = |export: &Export| {
            let names = self.modules.get(export).into_iter().flatten();
            names.map(|name| (export.0.clone(), name.clone())).collect::<Vec<_>>()
        };
        let mut exports = exported.clone();
        exports.extend(exported.iter().filter(is_module).flat_map(items_of));
        let all: BTreeSet<&String> = exports.iter().map(|(_, name)| name).collect();
        let is_hidden = |name: &str| NOT_NAMED.iter().any(|(hidden, _)| *hidden == name);
        let mut missing: BTreeMap<&String, &String> = BTreeMap::new();
        for user in &exports {
            for name in self.named.get(user).into_iter().flatten() {
                if self.defined.contains_key(name) && !all.contains(name) && !is_hidden(name) {
                    missing.entry(name).or_insert(&user.1);
                }
            }
        }
        let finding = |(name, user): (&String, &String)| Finding {
            file: self.defined[name].clone(),
            line: 1,
            message: format!(
                "the facade exports `{user}`, whose signatures name `{name}`, and does not export `{name}`"
            ),
        };
        missing.into_iter().map(finding).collect()
    }
}

/// The names of types in signatures.
#[derive(Debug, Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn signature(&mut self, signature: &Signature) {
        self.visit_signature(signature);
        self.hide(&signature.generics);
    }

    fn member(&mut self, member: &ImplItem) {
        if let ImplItem::Fn(function) = member
            && is_public(&function.vis)
        {
            self.signature(&function.sig);
        }
    }

    fn member_of_trait(&mut self, member: &TraitItem) {
        match member {
            TraitItem::Fn(function) => self.signature(&function.sig),
            TraitItem::Type(item) => item.bounds.iter().for_each(|bound| self.visit_type_param_bound(bound)),
            _ => {}
        }
    }

    /// Removes the names of type parameters.
    fn hide(&mut self, generics: &syn::Generics) {
        for parameter in generics.type_params() {
            self.0.remove(&parameter.ident.to_string());
        }
    }
}

impl Visit<'_> for Names {
    fn visit_path(&mut self, path: &syn::Path) {
        if let Some(last) = path.segments.last() {
            self.0.insert(last.ident.to_string());
        }
        visit::visit_path(self, path);
    }
}

fn type_name(of: &syn::Type) -> Option<String> {
    match of {
        syn::Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_signatures_name_are_exported() {
        let module = |path: &str, text: &str| Module {
            path: vec![path.to_owned()],
            file: "a.rs".into(),
            syntax: syn::parse_file(text).expect("a file"),
        };
        let check = |text: &str, expected: &[&str]| {
            let mut surface = Surface { crate_: "a".into(), ..Surface::default() };
            surface
                .read(&module("lib", "pub struct Key; pub struct Used; pub enum Kind { A(Inner) } pub struct Inner;"));
            surface.read(&module("side", "pub fn show(key: &Key) {}"));
            surface.read(&module("own", text));
            let facade = syn::parse_file("pub use a::{Top, side}; pub mod m { pub use a::Used as Other; } use c::Key;");
            let mut exported = BTreeSet::new();
            facade.expect("a file").items.iter().for_each(|item| exports(item, &mut exported));
            let missing = surface.missing(&exported);
            let names: Vec<&str> = missing.iter().filter_map(|one| one.message.rsplit('`').nth(1)).collect();
            assert_eq!(names, expected, "{text}");
        };
        check(
            "pub struct Top; impl Top { pub fn key(&self) -> Option<Kind> { None } fn own(&self) -> Inner {} }",
            &["Key", "Kind"],
        );
        check("pub trait Top { fn kind(&self, used: Used) -> impl Iterator<Item = Kind>; }", &["Key", "Kind"]);
        check(
            "pub struct Top { pub inner: Inner, kind: Kind } impl Clone for Top { fn a(k: Kind) {} }",
            &["Inner", "Key"],
        );
        check("pub struct Top; impl Top { pub fn with<Kind>(kind: Kind) {} }", &["Key"]);
    }
}
