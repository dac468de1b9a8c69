//! Parses the modules of each crate into syntax trees, for several checks.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use syn::{UseTree, Visibility};

use crate::files::{Sources, is_rust, is_unit_tests};
use crate::workspace::{Package, Workspace};

/// A source file.
pub(crate) struct Module {
    /// The names of the modules from the crate's root to this one; empty for the root.
    pub(crate) path: Vec<String>,
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

/// Parses the files below `src` that contain more than tests. Programs next to a library are left out.
fn modules(sources: &Sources, src: &Path) -> anyhow::Result<Vec<Module>> {
    let own = sources.files.iter().filter(|(file, _)| is_rust(file) && !is_unit_tests(file));
    own.filter_map(|(file, text)| Some((file, text, module_path(file.strip_prefix(src).ok()?)?)))
        .map(|(file, text, path)| {
            let syntax = syn::parse_file(text).with_context(|| format!("cannot parse {}", file.display()))?;
            Ok(Module { path, syntax })
        })
        .collect()
}

/// Returns the module that a file below `src` defines; `None` for a program of its own.
fn module_path(file: &Path) -> Option<Vec<String>> {
    let mut names: Vec<String> =
        file.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.first().is_some_and(|first| first == "bin") {
        return None;
    }
    let is_root = names.len() == 1 && (names[0] == "lib" || names[0] == "main");
    if is_root || names.last().is_some_and(|last| last == "mod") {
        names.pop();
    }
    Some(names)
}

/// Returns true if an item is compiled for tests only.
pub(crate) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test")))
    })
}

pub(crate) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Returns the names that a `use` imports, each as its path and its local name. A glob has no local name.
pub(crate) fn leaves(tree: &UseTree) -> Vec<(Vec<String>, Option<String>)> {
    match tree {
        UseTree::Path(path) => {
            let name = path.ident.to_string();
            leaves(&path.tree).into_iter().map(|(rest, alias)| below(&name, rest, alias)).collect()
        }
        UseTree::Name(leaf) => vec![(vec![leaf.ident.to_string()], Some(leaf.ident.to_string()))],
        UseTree::Rename(leaf) => vec![(vec![leaf.ident.to_string()], Some(leaf.rename.to_string()))],
        UseTree::Glob(_) => vec![(Vec::new(), None)],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

/// Adds a name to the beginning of a path. `a::{self}` names `a` itself.
fn below(name: &str, rest: Vec<String>, alias: Option<String>) -> (Vec<String>, Option<String>) {
    if rest == ["self"] {
        let alias = alias.map(|alias| if alias == "self" { name.to_owned() } else { alias });
        return (vec![name.to_owned()], alias);
    }
    ([name.to_owned()].into_iter().chain(rest).collect(), alias)
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
        check("a/mod.rs", Some("a"));
        check("a/b.rs", Some("a::b"));
        check("a/lib.rs", Some("a::lib"));
        check("bin/a.rs", None);
    }
}
