use super::*;

/// The lines of a crate `a` whose files are given by their modules.
fn api(files: &[(&str, &str)]) -> Vec<String> {
    let module = |(path, text): &(&str, &str)| Module {
        path: path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        file: path.into(),
        syntax: syn::parse_file(text).expect("a file"),
    };
    let modules: Vec<Module> = files.iter().map(module).collect();
    of_modules("a", &modules).lines().map(str::to_owned).collect()
}

#[test]
fn items_are_shown_where_users_find_them() {
    let files = [
        ("", "mod one; pub mod two; pub use one::{Key, Other as Renamed}; pub use two::inner::Deep;"),
        ("one", "pub struct Key; pub struct Other; pub struct Hidden; pub(crate) struct Own;"),
        ("two", "pub mod inner; pub fn shown() {} #[doc(hidden)] pub fn hidden() {}"),
        ("two::inner", "pub struct Deep;"),
    ];
    let expected = [
        "a::Deep: struct Deep",
        "a::Key: struct Key",
        "a::Renamed: struct Other",
        "a::two: mod two",
        "a::two::inner: mod inner",
        "a::two::inner::Deep: use a::Deep",
        "a::two::shown: fn shown()",
    ];
    assert_eq!(api(&files), expected);
}

#[test]
fn reexports_through_private_modules_globs_and_other_crates_are_followed() {
    let files = [
        ("", "mod one; pub use self::one::*; pub use serde_json::{Map, Value as Json}; pub use other::*;"),
        ("one", "mod deep; pub use deep::Deep; pub(crate) use deep::Own; use super::one::deep::Hidden;"),
        ("one::deep", "pub struct Deep; pub struct Own; pub struct Hidden;"),
    ];
    let expected =
        ["a::*: use other", "a::Deep: struct Deep", "a::Json: use serde_json::Value", "a::Map: use serde_json::Map"];
    assert_eq!(api(&files), expected);
}

#[test]
fn members_are_lines_of_their_own() {
    let text = "\
        #[derive(Clone, Debug)] #[non_exhaustive] pub struct Key<T: Ord> { /// Doc.\n pub name: String, own: T }\n\
        impl<T: Ord> Key<T> { pub fn name(&self) -> &str { &self.name } fn own(&self) {} #[doc(hidden)] pub fn h(&self) {} }\n\
        impl Key<u8> { pub const ONE: u8 = 1; }\n\
        impl<T: Ord> Iterator for Key<T> { type Item = T; fn next(&mut self) -> Option<T> { None } }\n\
        pub enum Kind { A, B(u8, String), C { id: u8 } }\n\
        pub struct Plain(pub u8);\n\
        pub trait Reads: Send { type Error: Debug; const MOST: usize; fn read(&self) -> u8; fn all(&self) -> Vec<u8> { Vec::new() } }\n\
        impl Reads for &str {} impl Reads for String {} struct Own; impl Reads for Own {}\n\
        pub const MOST: usize = 3; pub type Done<T> = Result<T, Fault>; pub(crate) fn own() {}\n";
    let expected = [
        "a::Done: type Done<T> = Result<T, Fault>",
        "a::Key: #[non_exhaustive] struct Key<T: Ord>",
        "a::Key: derive Clone",
        "a::Key: derive Debug",
        "a::Key: impl Iterator for Key<T>: type Item = T",
        "a::Key: impl<T: Ord> Iterator for Key<T>",
        "a::Key::ONE: impl Key<u8>: const ONE: u8",
        "a::Key::name: field: String",
        "a::Key::name: impl<T: Ord> Key<T>: fn name(&self) -> &str",
        "a::Kind: enum Kind",
        "a::Kind::A: variant A",
        "a::Kind::B: variant B(u8, String)",
        "a::Kind::C: variant C { id: u8 }",
        "a::MOST: const MOST: usize",
        "a::Plain: struct Plain with public fields only",
        "a::Plain::0: field: u8",
        "a::Reads: impl Reads for &str",
        "a::Reads: impl Reads for String",
        "a::Reads: trait Reads: Send",
        "a::Reads::Error: type Error: Debug",
        "a::Reads::MOST: const MOST: usize",
        "a::Reads::all: fn all(&self) -> Vec<u8> { … }",
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
            "macro_rules! own { ($n:ident) => { pub struct $n; } } own!{ /** Doc. */ Id } #[macro_export] macro_rules! shown { () => {} }",
        ),
    ];
    let expected = [
        "a::Id: #[cfg(feature = \"y\")] made by own!(Id)",
        "a::Id::g: fn g(&self)",
        "a::shown: macro shown!",
        "a::x: #[cfg(feature = \"x\")] mod x",
        "a::x::f: #[cfg(feature = \"x\")] fn f()",
    ];
    assert_eq!(api(&files), expected);
}

#[test]
fn only_what_users_see_changes_the_text() {
    let before = api(&[("", "pub fn f(\n a: u8,\n) -> u8 { 1 }\npub struct S { a: u8 }")]);
    let after = api(&[("", "/// Doc.\npub fn f(a: u8) -> u8 { 2 }\npub struct S { b: u16 }\nfn own() {}")]);
    assert_eq!(before, after);
    let changed = api(&[("", "pub fn f(a: u16) -> u8 { 1 }\npub struct S { a: u8 }")]);
    assert_ne!(before, changed);
}

#[test]
fn differing_lines_are_named_in_order() {
    let found = differences("a::f: fn f()\na::g: fn g()\n", "a::f: fn f(x: u8)\na::g: fn g()\na::h: fn h()\n");
    let lines: Vec<(usize, bool, bool)> = found
        .iter()
        .map(|(line, message)| (*line, message.contains("no longer has"), message.contains("fn h()")))
        .collect();
    assert_eq!(lines, [(1, true, false), (1, false, false), (3, false, true)], "{found:?}");
    assert_eq!(differences("a\n", "a\n"), []);
}
