//! The engine's powers: public items for engines, and those that users' types expose although no user calls them.
//!
//! For engines are the public items of the module [`MODULE`] and the public methods of the types it defines. Exposed is a
//! public method of [`TYPES`] that an engine crate calls, and no example, test of the facade or document. Calls are found by
//! name, so a method that shares its name with another one counts as called.

use std::collections::BTreeSet;
use std::path::Path;

use syn::{ImplItem, Item};

use super::items::{self, is_public};
use super::source::Module;
use crate::files::Sources;
use crate::files::is_unit_tests;

/// The crate of the types that handlers are given.
const OWNER: &str = "crates/pleach-context";

/// The module for engines.
const MODULE: &str = "engine";

/// The types that handlers are given.
const TYPES: &[&str] = &["Context", "InvocationContext"];

/// Where engines are.
const ENGINES: &[&str] = &["crates/pleach-workflow", "crates/pleach-runner", "crates/pleach-testkit"];

/// Where users are, or what is used in their place.
const USERS: &[&str] = &["crates/pleach", "examples", "tests", "benches", "docs", "README.md"];

/// The number of public items for engines; 0 for a crate that does not own the types.
pub(super) fn own(folder: &Path, modules: &[Module]) -> usize {
    let Some(module) = modules.iter().find(|module| module.path == [MODULE]).filter(|_| folder == Path::new(OWNER))
    else {
        return 0;
    };
    let types: Vec<String> = module.syntax.items.iter().filter_map(public_struct).collect();
    let elsewhere = modules.iter().filter(|other| other.path != module.path);
    let methods = elsewhere.flat_map(|other| methods(&other.syntax, |owner| types.iter().any(|own| own == owner)));
    items::public(&module.syntax) + methods.count()
}

fn public_struct(item: &Item) -> Option<String> {
    match item {
        Item::Struct(item) if is_public(&item.vis) => Some(item.ident.to_string()),
        _ => None,
    }
}

/// The exposed methods, as `Type::method`; none for a crate that does not own the types.
pub(super) fn exposed(sources: &Sources, folder: &Path, modules: &[Module]) -> Vec<String> {
    if folder != Path::new(OWNER) {
        return Vec::new();
    }
    let (engines, users) = (called(sources, ENGINES), called(sources, USERS));
    let methods = modules.iter().flat_map(|module| methods(&module.syntax, |owner| TYPES.contains(&owner)));
    let mut found: Vec<String> = methods
        .filter(|(_, name)| engines.contains(name.as_str()) && !users.contains(name.as_str()))
        .map(|(owner, name)| format!("{owner}::{name}"))
        .collect();
    found.sort();
    found
}

/// The public methods of some types, with the names of both.
fn methods<'a>(file: &'a syn::File, wanted: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = (String, String)> + 'a {
    file.items.iter().flat_map(move |item| {
        let Item::Impl(block) = item else { return Vec::new() };
        let owner = type_name(&block.self_ty);
        let Some(owner) = owner.filter(|owner| block.trait_.is_none() && wanted(owner)) else {
            return Vec::new();
        };
        let functions = block.items.iter().filter_map(|item| match item {
            ImplItem::Fn(function) if is_public(&function.vis) => Some(function.sig.ident.to_string()),
            _ => None,
        });
        functions.map(|name| (owner.clone(), name)).collect()
    })
}

fn type_name(ty: &syn::Type) -> Option<String> {
    let syn::Type::Path(path) = ty else { return None };
    Some(path.path.segments.last()?.ident.to_string())
}

/// The words behind a `.` or a `::` in the sources and documents of some folders, unit tests aside.
fn called<'a>(sources: &'a Sources, folders: &[&str]) -> BTreeSet<&'a str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let own = sources
        .files
        .iter()
        .filter(|(file, _)| folders.iter().any(|folder| file.starts_with(folder)) && !is_unit_tests(file));
    own.flat_map(|(_, text)| {
        text.match_indices(['.', ':']).map(move |(at, mark)| {
            let rest = &text[at + mark.len()..];
            &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())]
        })
    })
    .filter(|word| !word.is_empty())
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_only_engines_call_are_listed() {
        let text = "impl Context { pub fn record(&self) {} pub fn state(&self) {} pub fn idle(&self) {} fn own(&self) {} }\nimpl Other { pub fn record(&self) {} }\n";
        let module = Module { path: Vec::new(), file: "a.rs".into(), syntax: syn::parse_file(text).expect("a file") };
        let file = |path: &str, text: &str| (path.into(), text.to_owned());
        let sources = Sources {
            files: vec![
                file("crates/pleach-workflow/src/a.rs", "ctx.record();\nctx\n    .state();\nctx.own();\n"),
                file("examples/a.rs", "Context::state(&ctx);\n"),
            ],
        };
        assert_eq!(exposed(&sources, Path::new(OWNER), &[module]), ["Context::record"]);
    }

    #[test]
    fn items_for_engines_are_those_of_their_module() {
        let module = |path: &str, text| Module {
            path: vec![path.to_owned()],
            file: path.into(),
            syntax: syn::parse_file(text).expect("a file"),
        };
        let modules = [
            module("engine", "pub trait Engine { fn engine(&self); } pub struct Handle; struct Own;"),
            module(
                "queue",
                "impl Handle { pub fn take(&self) {} fn own(&self) {} } impl Queue { pub fn take(&self) {} }",
            ),
        ];
        assert_eq!(own(Path::new(OWNER), &modules), 4);
        assert_eq!(own(Path::new("crates/other"), &modules), 0);
    }
}
