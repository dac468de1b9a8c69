use super::*;
use crate::syntax::Module;

/// Returns the lines of a crate `a` with these files, each with the path of its module.
fn api(files: &[(&str, &str)]) -> Vec<String> {
    let module = |(path, text): &(&str, &str)| Module {
        path: path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        syntax: syn::parse_file(text).expect("a file"),
    };
    let modules: Vec<Module> = files.iter().map(module).collect();
    lines::of_crate("a", &modules).iter().map(ToString::to_string).collect()
}

#[test]
fn public_items_are_shown_with_their_reexports() {
    let files = [
        (
            "",
            "mod one; pub mod two; pub use one::{Key, Other as Renamed}; pub use two::inner::Deep; pub use four::*;\n\
             pub use serde_json::{Map, Value as Json}; pub use other::*; #[doc(hidden)] pub mod three; mod four;",
        ),
        ("one", "pub struct Key; pub struct Other; pub struct Hidden; pub(crate) struct Own;"),
        ("two", "pub mod inner; pub fn shown() {} #[doc(hidden)] pub fn hidden() {}"),
        ("two::inner", "pub struct Deep;"),
        ("three", "pub use crate::one::Hidden;"),
        ("four", "mod five; pub use five::Five;"),
        ("four::five", "pub struct Five; impl Five { pub fn f(&self) {} }"),
    ];
    let expected = [
        "a::*: use other",
        "a::Deep: use Deep",
        "a::Five: struct Five",
        "a::Five: use Five",
        "a::Five::f: fn f(&self)",
        "a::Json: use serde_json::Value",
        "a::Key: struct Key",
        "a::Key: use Key",
        "a::Map: use serde_json::Map",
        "a::Other: struct Other",
        "a::Renamed: use Other",
        "a::two: mod two",
        "a::two::inner: mod inner",
        "a::two::shown: fn shown()",
        "a::two::inner::Deep: struct Deep",
    ];
    assert_eq!(api(&files), expected);
}

#[test]
fn members_are_lines_of_their_own() {
    let text = "\
        #[derive(Clone, Debug)] #[non_exhaustive] pub struct Key<T: Ord> { /// Doc.\n pub name: String, own: T }\n\
        impl<T: Ord> Key<T> { pub fn name(&self) -> &str { &self.name } fn own(&self) {} #[doc(hidden)] pub fn h(&self) {} }\n\
        impl Key<u8> { pub const ONE: u8 = 1; }\n\
        impl<T: Ord> Iterator for Key<T> { type Item = T; fn next(&mut self) -> Option<T> { None } }\n\
        pub enum Kind { A, B(u8, String), C { /// Doc.\n id: u8 } }\n\
        pub struct Plain(pub u8);\n\
        pub trait Reads: Send { type Error: Debug; fn read(&self) -> u8; fn all(&self) -> Vec<u8> { Vec::new() } }\n\
        impl Reads for &str {} impl Reads for String {} struct Own; impl Reads for Own {}\n\
        pub const MOST: usize = 3; pub type Done<T> = Result<T, Fault>; pub(crate) fn own() {}\n";
    let expected = [
        "a::Done: type Done<T> = Result<T, Fault>",
        "a::Key: #[derive(Clone, Debug)] #[non_exhaustive] struct Key<T: Ord>",
        "a::Key: impl Iterator for Key<T> { type Item = T }",
        "a::Key: impl<T: Ord> Iterator for Key<T>",
        "a::Key::ONE: impl Key<u8>: const ONE: u8",
        "a::Key::name: field String",
        "a::Key::name: impl<T: Ord> Key<T>: fn name(&self) -> &str",
        "a::Kind: enum Kind",
        "a::Kind::A: variant A",
        "a::Kind::B: variant B(u8, String)",
        "a::Kind::C: variant C { id: u8 }",
        "a::MOST: const MOST: usize",
        "a::Plain: struct Plain with public fields only",
        "a::Plain::0: field u8",
        "a::Reads: impl Reads for &str",
        "a::Reads: impl Reads for String",
        "a::Reads: trait Reads: Send",
        "a::Reads::Error: type Error: Debug",
        "a::Reads::all: fn all(&self) -> Vec<u8> { }",
        "a::Reads::read: fn read(&self) -> u8",
    ];
    assert_eq!(api(&[("", text)]), expected);
}

#[test]
fn conditions_macros_and_tests_are_told_apart() {
    let files = [
        (
            "",
            "#[cfg(feature = \"x\")] pub mod x; mod made; #[cfg(feature = \"y\")] pub use made::Id; #[cfg(test)] mod tests { pub fn no() {} }",
        ),
        ("x", "pub fn f() {} impl crate::made::Id { pub fn g(&self) {} }"),
        (
            "made",
            "macro_rules! own { ($n:ident) => { pub struct $n; } } own!{ /** Doc. */ Id } own!(Own); #[macro_export] macro_rules! shown { () => {} }",
        ),
    ];
    let expected = [
        "a::Id: made by own!(Id)",
        "a::Id: #[cfg(feature = \"y\")] use Id",
        "a::Id::g: fn g(&self)",
        "a::shown: macro shown!",
        "a::x: #[cfg(feature = \"x\")] mod x",
        "a::x::f: fn f()",
    ];
    let mut found = api(&files);
    found.sort();
    assert_eq!(found.len(), expected.len());
    assert!(expected.iter().all(|line| found.iter().any(|found| found == line)), "{found:?}");
}

#[test]
fn only_what_users_see_changes_the_text() {
    let before = api(&[(
        "",
        "pub fn f<F>(\n a: u8,\n b: &'static (A, [u8; 2]),\n) -> (A, B) where F: ?Sized + for<'a> Fn(&'a mut T), { 1 }\npub struct S { a: u8 }",
    )]);
    let after = api(&[(
        "",
        "/// Doc.\npub fn f<F>(a: u8, b: &'static (A, [u8; 2])) -> (A, B) where F: ?Sized + for<'a> Fn(&'a mut T) { 2 }\npub struct S { b: u16 }\nfn own() {}",
    )]);
    assert_eq!(before, after);
    assert_eq!(
        before[1],
        "a::f: fn f<F>(a: u8, b: &'static(A, [u8; 2])) -> (A, B) where F: ?Sized + for<'a> Fn(&'a mut T)"
    );
    assert_ne!(api(&[("", "pub fn f(a: u8) {}")]), api(&[("", "pub fn f(a: u16) {}")]));
}

#[test]
fn differing_lines_are_named_in_order() {
    let found = differences("a::f: fn f()\na::g: fn g()\n", "a::f: fn f(x: u8)\na::g: fn g()\na::h: fn h()\n");
    let lines: Vec<(usize, bool)> =
        found.iter().map(|(line, message)| (*line, message.contains("no longer has"))).collect();
    assert_eq!(lines, [(1, true), (1, false), (3, false)], "{found:?}");
    assert_eq!(differences("a\n", "a\n"), []);
}
