//! The modules of a crate with their items, and where a path leads.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::{Item, Visibility};

use crate::syntax::{Module, is_test, leaves};

/// Names from the root of a crate down.
pub(super) type Path = Vec<String>;

/// How many re-exports are followed to a definition.
const MOST_HOPS: usize = 16;

/// The items of a crate by their modules, those inside of files included; tests are left out.
pub(super) struct Tree<'a> {
    scopes: BTreeMap<Path, Vec<&'a Item>>,
}

/// The place of an item: its module, and its number there.
pub(super) type Place = (Path, usize);

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// An item of the crate.
    Item(Place),
    /// The root of the crate.
    Root,
    /// Another crate.
    Elsewhere(Path),
}

impl<'a> Tree<'a> {
    pub(super) fn new(modules: &'a [Module]) -> Self {
        let mut tree = Self { scopes: BTreeMap::new() };
        for module in modules {
            tree.add(&module.path, &module.syntax.items);
        }
        tree
    }

    fn add(&mut self, path: &Path, items: &'a [Item]) {
        let tested = |item: &&Item| !is_test(attributes(item));
        let items: Vec<&Item> = items.iter().filter(tested).collect();
        for item in &items {
            if let Item::Mod(inner) = item
                && let Some((_, items)) = &inner.content
            {
                self.add(&below(path, &inner.ident.to_string()), items);
            }
        }
        self.scopes.insert(path.clone(), items);
    }

    /// The modules with their items.
    pub(super) fn scopes(&self) -> impl Iterator<Item = (&Path, &Vec<&'a Item>)> {
        self.scopes.iter()
    }

    pub(super) fn items(&self, module: &Path) -> &[&'a Item] {
        self.scopes.get(module).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn item(&self, place: &Place) -> &'a Item {
        self.scopes[&place.0][place.1]
    }

    /// Where a path that is written in a module leads: a function and a module may have one name, and a macro that makes items is found by
    /// each name that it is given.
    pub(super) fn find(&self, module: &Path, path: &[String]) -> Vec<Target> {
        self.follow(module, path, MOST_HOPS)
    }

    fn follow(&self, module: &Path, path: &[String], hops: usize) -> Vec<Target> {
        let (Some(hops), Some((first, rest))) = (hops.checked_sub(1), path.split_first()) else { return Vec::new() };
        match first.as_str() {
            "crate" if rest.is_empty() => return vec![Target::Root],
            "crate" => return self.follow(&Vec::new(), rest, hops),
            "self" => return self.follow(module, rest, hops),
            "super" => {
                let above = module[..module.len().saturating_sub(1)].to_vec();
                return self.follow(&above, rest, hops);
            }
            _ => {}
        }
        let found = self.named(module, first, hops);
        if found.is_empty() {
            return vec![Target::Elsewhere(path.to_vec())];
        }
        if rest.is_empty() {
            return found;
        }
        found.into_iter().flat_map(|target| self.onward(target, rest, hops)).collect()
    }

    /// What a name means in a module; empty when it is the name of another crate.
    fn named(&self, module: &Path, name: &str, hops: usize) -> Vec<Target> {
        let items = self.items(module);
        let places = items.iter().enumerate().filter(|(_, item)| name_of(item).is_some_and(|own| own == name));
        let own: Vec<Target> = places.map(|(index, _)| Target::Item((module.clone(), index))).collect();
        if !own.is_empty() {
            return own;
        }
        let uses = || items.iter().filter_map(|item| if let Item::Use(import) = item { Some(import) } else { None });
        let mut found = Vec::new();
        for (path, alias) in uses().flat_map(|import| leaves(&import.tree)) {
            // `use name::…` in the root names another crate, not itself.
            if alias.as_deref() == Some(name) && path.first().is_none_or(|first| first != name) {
                found.extend(self.follow(module, &path, hops));
            }
            if alias.is_none() {
                found.extend(self.through_glob(module, &path, name, hops));
            }
        }
        if found.is_empty() {
            let made = items.iter().enumerate().filter(|(_, item)| makes(item, name));
            found.extend(made.map(|(index, _)| Target::Item((module.clone(), index))));
        }
        found
    }

    /// What a name means by `use path::*`.
    fn through_glob(&self, module: &Path, path: &[String], name: &str, hops: usize) -> Vec<Target> {
        let Some(hops) = hops.checked_sub(1) else { return Vec::new() };
        let scopes = self.follow(module, path, hops).into_iter().filter_map(|target| self.module_of(&target));
        let scopes: Vec<Path> = scopes.filter(|scope| scope != module).collect();
        scopes.into_iter().flat_map(|scope| self.named(&scope, name, hops)).collect()
    }

    fn onward(&self, target: Target, rest: &[String], hops: usize) -> Vec<Target> {
        match (&target, self.module_of(&target)) {
            (_, Some(scope)) => self.follow(&scope, rest, hops),
            (Target::Elsewhere(path), None) => vec![Target::Elsewhere(path.iter().chain(rest).cloned().collect())],
            // A variant of an enumeration.
            _ => Vec::new(),
        }
    }

    /// The module that a target is.
    pub(super) fn module_of(&self, target: &Target) -> Option<Path> {
        match target {
            Target::Root => Some(Vec::new()),
            Target::Item(place) => match self.item(place) {
                Item::Mod(inner) => Some(below(&place.0, &inner.ident.to_string())),
                _ => None,
            },
            Target::Elsewhere(_) => None,
        }
    }
}

/// Whether an item is the call of a macro that makes an item of a name: the first name that the macro is given, or one after a keyword of items.
fn makes(item: &Item, name: &str) -> bool {
    const KEYWORDS: &[&str] = &["const", "enum", "fn", "static", "struct", "trait", "type", "union"];
    let Item::Macro(call) = item else { return false };
    let mut names = Vec::new();
    add_names(call.mac.tokens.clone(), &mut names);
    let first = names.iter().find(|word| *word != "pub");
    let follows = |pair: &[proc_macro2::Ident]| KEYWORDS.iter().any(|keyword| pair[0] == keyword) && pair[1] == name;
    call.ident.is_none() && (first.is_some_and(|first| first == name) || names.windows(2).any(follows))
}

/// All names among tokens, those in brackets included; attributes are left out.
fn add_names(tokens: TokenStream, names: &mut Vec<proc_macro2::Ident>) {
    let mut after_mark = false;
    for token in tokens {
        let is_attribute = std::mem::take(&mut after_mark);
        match token {
            TokenTree::Ident(name) => names.push(name),
            TokenTree::Group(group) if !is_attribute => add_names(group.stream(), names),
            TokenTree::Punct(punct) => after_mark = punct.as_char() == '#',
            _ => {}
        }
    }
}

pub(super) fn below(path: &[String], name: &str) -> Path {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

pub(super) fn name_of(item: &Item) -> Option<String> {
    match item {
        Item::Mod(item) => Some(item.ident.to_string()),
        item => item_name(item),
    }
}

pub(super) fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

pub(super) fn is_public(item: &Item) -> bool {
    let visibility = match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Mod(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        Item::Union(item) => &item.vis,
        Item::Use(item) => &item.vis,
        _ => return false,
    };
    matches!(visibility, Visibility::Public(_))
}

/// The name of an item that is no module.
fn item_name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Fn(item) => &item.sig.ident,
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Const(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(ident.to_string())
}
