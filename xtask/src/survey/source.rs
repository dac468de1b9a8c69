//! The modules of a crate, one for each source file, as syntax trees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::files::Sources;
use crate::files::is_unit_tests;
use crate::workspace::{Package, Workspace};

/// A source file.
pub(crate) struct Module {
    /// Its path in the crate: empty for the root, else the names from the root down.
    pub(crate) path: Vec<String>,
    pub(crate) file: PathBuf,
    pub(crate) syntax: syn::File,
}

/// The modules of every package, parsed once for all checks.
pub(crate) struct Parsed(BTreeMap<String, Vec<Module>>);

impl Parsed {
    pub(crate) fn load(workspace: &Workspace, sources: &Sources) -> anyhow::Result<Self> {
        let of_package = |package: &Package| {
            let src = workspace.relative(package.folder()).join("src");
            Ok((package.name.clone(), modules(sources, &src)?))
        };
        Ok(Self(workspace.packages.iter().map(of_package).collect::<anyhow::Result<_>>()?))
    }

    pub(crate) fn of(&self, package: &Package) -> &[Module] {
        self.0.get(&package.name).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Parses the files below `src` that hold more than tests. Programs beside a library are left out.
pub(super) fn modules(sources: &Sources, src: &Path) -> anyhow::Result<Vec<Module>> {
    let own = sources.files.iter().filter(|(file, _)| file.extension().is_some_and(|extension| extension == "rs"));
    let own = own.filter_map(|(file, text)| Some((file, text, module_path(file.strip_prefix(src).ok()?)?)));
    own.filter(|(file, ..)| !is_unit_tests(file))
        .map(|(file, text, path)| {
            let syntax = syn::parse_file(text).with_context(|| format!("cannot parse {}", file.display()))?;
            Ok(Module { path, file: file.clone(), syntax })
        })
        .collect()
}

/// The module that a file below `src` is; `None` for a program of its own.
fn module_path(file: &Path) -> Option<Vec<String>> {
    let mut names: Vec<String> =
        file.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.first().is_some_and(|first| first == "bin") {
        return None;
    }
    if names.last().is_some_and(|last| last == "mod" || (names.len() == 1 && (last == "lib" || last == "main"))) {
        names.pop();
    }
    Some(names)
}

/// Whether an item is compiled for tests only.
pub(crate) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_modules() {
        let check = |file: &str, expected: Option<&str>| {
            let path = module_path(Path::new(file)).map(|names| names.join("::"));
            assert_eq!(path.as_deref(), expected, "{file}");
        };
        check("lib.rs", Some(""));
        check("main.rs", Some(""));
        check("a.rs", Some("a"));
        check("a/mod.rs", Some("a"));
        check("a/b.rs", Some("a::b"));
        check("a/lib.rs", Some("a::lib"));
        check("bin/a.rs", None);
    }

    #[test]
    fn tests_are_known_by_their_attributes() {
        let is = |text: &str| is_test(&syn::parse_str::<syn::ItemMod>(text).expect("a module").attrs);
        assert!(is("#[cfg(test)] mod a {}"));
        assert!(!is("#[cfg(unix)] mod a {}") && !is("mod a {}"));
    }
}
