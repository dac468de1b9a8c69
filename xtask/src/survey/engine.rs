//! The engine's powers on types of users: public methods that no user calls.
//!
//! Counted are the public methods of [`TYPES`] that an engine crate calls, and no example, test of the facade or document.
//! Calls are found by name, so a method that shares its name with another one counts as called.

use std::collections::BTreeSet;
use std::path::Path;

use syn::{ImplItem, Item};

use super::items::is_public;
use super::source::Module;
use crate::files::is_unit_tests;
use crate::tidy::Sources;

/// The crate of the types that handlers are given.
const OWNER: &str = "crates/pleach-context";

/// The types that handlers are given.
const TYPES: &[&str] = &["Context", "InvocationContext"];

/// Where engines are.
const ENGINES: &[&str] = &["crates/pleach-workflow", "crates/pleach-runner", "crates/pleach-testkit"];

/// Where users are, or what is used in their place.
const USERS: &[&str] = &["crates/pleach", "examples", "tests", "benches", "docs", "README.md"];

/// The methods, as `Type::method`; none for a crate that does not own the types.
pub(super) fn items(sources: &Sources, folder: &Path, modules: &[Module]) -> Vec<String> {
    if folder != Path::new(OWNER) {
        return Vec::new();
    }
    let (engines, users) = (called(sources, ENGINES), called(sources, USERS));
    let methods = modules.iter().flat_map(|module| methods(&module.syntax));
    let mut found: Vec<String> = methods
        .filter(|(_, name)| engines.contains(name.as_str()) && !users.contains(name.as_str()))
        .map(|(owner, name)| format!("{owner}::{name}"))
        .collect();
    found.sort();
    found
}

/// The public methods of the types, with the names of both.
fn methods(file: &syn::File) -> impl Iterator<Item = (String, String)> {
    file.items.iter().flat_map(|item| {
        let Item::Impl(block) = item else { return Vec::new() };
        let owner = type_name(&block.self_ty);
        let Some(owner) = owner.filter(|owner| block.trait_.is_none() && TYPES.contains(&owner.as_str())) else {
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
        assert_eq!(items(&sources, Path::new(OWNER), &[module]), ["Context::record"]);
    }
}
