//! Checks that the facade exports every type that the signatures of its items name, so that a user can name all
//! arguments and return values.
//!
//! Types are compared by name, and only types that a published library defines are checked.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::{Kind, Line, Snapshot};
use crate::finding::Finding;

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

pub(super) fn check(snapshot: &Snapshot) -> Vec<Finding> {
    let facade = snapshot.0.get(FACADE).into_iter().flatten();
    let libraries = || snapshot.0.iter().filter(|(name, _)| *name != FACADE).flat_map(|(_, lines)| lines);
    missing(facade, libraries().collect())
}

fn missing<'a>(facade: impl Iterator<Item = &'a Line>, libraries: Vec<&'a Line>) -> Vec<Finding> {
    let exported: BTreeSet<(&str, &str)> = facade.filter_map(export).collect();
    let names: BTreeSet<&str> =
        libraries.iter().filter(|line| is_exported(line, &exported)).map(|line| &*line.item).collect();
    let defined: BTreeMap<&str, &Line> =
        libraries.iter().filter(|line| is_type(line)).map(|line| (&*line.item, *line)).collect();
    let is_missing = |name: &str| {
        defined.contains_key(name) && !names.contains(name) && !NOT_NAMED.iter().any(|(other, _)| *other == name)
    };
    let mut missing: BTreeMap<&str, &str> = BTreeMap::new();
    for user in libraries.iter().filter(|line| is_exported(line, &exported)) {
        for name in named(user).filter(|name| is_missing(name)) {
            missing.entry(name).or_insert(&user.item);
        }
    }
    let finding = |(name, user): (&str, &str)| {
        let message =
            format!("the facade exports `{user}`, whose signatures name `{name}`, and does not export `{name}`");
        Finding::new(format!("api/{}.txt", defined[name].modules[0].replace('_', "-")), 1, message)
    };
    missing.into_iter().map(finding).collect()
}

/// Returns the crate and the name of a re-export of the facade.
fn export(line: &Line) -> Option<(&str, &str)> {
    let (_, path) = line.text.rsplit_once("use ").filter(|_| line.kind == Kind::Use)?;
    let crate_ = path.split("::").next()?;
    Some((crate_, path.rsplit("::").next()?))
}

/// Returns true if the facade exports the item, or a public module that contains it.
fn is_exported(line: &Line, exported: &BTreeSet<(&str, &str)>) -> bool {
    let Some((crate_, modules)) = line.modules.split_first() else { return false };
    let mut names = modules.iter().chain([&line.item]);
    names.any(|name| exported.contains(&(crate_.as_str(), name.as_str())))
}

fn is_type(line: &Line) -> bool {
    let kinds = ["struct ", "enum ", "trait ", "type "];
    let is_head = line.kind == Kind::Item && line.member.is_none();
    is_head && kinds.iter().any(|kind| line.text.contains(&format!("{kind}{}", line.item)))
}

/// Returns the names of types in a signature. Type parameters are not distinguished from types.
fn named(line: &Line) -> impl Iterator<Item = &str> {
    // The types that an implementation names are checked in the trait, and the name of a variant is not a type.
    let is_signature = matches!(line.kind, Kind::Item | Kind::Part);
    let is_made = line.text.starts_with("made by");
    let text = line.text.trim_start_matches(|c| c != ']').trim_start_matches(']');
    let text = if line.text.starts_with("#[") { text } else { &line.text };
    let text =
        text.strip_prefix("variant ").map_or(text, |variant| &variant[line.member.as_ref().map_or(0, String::len)..]);
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(move |word| is_signature && !is_made && word.starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::lines_of;

    #[test]
    fn types_that_signatures_name_are_exported() {
        let check = |text: &str, expected: &[&str]| {
            let library = format!(
                "pub mod side {{ pub fn show(key: &Key) {{}} }}\n\
                 pub struct Key; pub struct Used; pub enum Kind {{ A(Inner) }} pub struct Inner;\n{text}"
            );
            let library = lines_of("a", &library);
            let facade =
                lines_of("pleach", "pub use a::{Top, side}; pub mod m { pub use a::Used as Other; } use c::Key;");
            let missing = missing(facade.iter(), library.iter().collect());
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
        check("pub enum Top { Kind, B(Inner) }", &["Inner", "Key"]);
    }
}
