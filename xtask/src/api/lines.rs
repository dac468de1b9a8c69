//! The API lines of a crate: one line for each thing that a user's code can name or call.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use quote::{ToTokens, quote};
use syn::{Attribute, ImplItem, Item, TraitItem};

use super::scopes::{Path, Scope, Scopes, is_hidden, is_shown};
use super::text::{text, without_docs};
use crate::syntax::{Module, is_public, leaves};

/// A thing that users can name or call.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Line {
    /// The crate and the public modules that contain the item. An item of a private module is listed under the crate.
    /// The lines of re-exports show where users find it.
    pub(crate) modules: Path,
    pub(crate) item: String,
    /// The name of the method, field or variant.
    pub(crate) member: Option<String>,
    pub(crate) text: String,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// An item, or a function or constant of a type or trait.
    Item,
    /// A part of an item: a field, a variant, an associated type.
    Part,
    /// An implementation of a trait.
    Impl,
    /// A re-export.
    Use,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.modules.join("::"), self.item)?;
        if let Some(member) = &self.member {
            write!(f, "::{member}")?;
        }
        write!(f, ": {}", self.text)
    }
}

/// Returns the lines of a crate.
pub(super) fn of_crate(crate_: &str, modules: &[Module]) -> BTreeSet<Line> {
    let scopes = Scopes::new(modules);
    let mut lines = Lines { modules: Path::new(), found: BTreeSet::new() };
    for scope in &scopes.all {
        lines.modules = scopes.public_path(crate_, &scope.path);
        for item in &scope.items {
            lines.item(item, scope, &scopes);
        }
    }
    let items = lines.found.iter().filter(|line| line.member.is_none() && line.kind == Kind::Item);
    let items: BTreeMap<String, Path> = items.map(|line| (line.item.clone(), line.modules.clone())).collect();
    let own: BTreeSet<String> = scopes.all.iter().flat_map(|scope| scope.items.iter().filter_map(type_name)).collect();
    for item in scopes.all.iter().flat_map(|scope| &scope.items) {
        if let Item::Impl(block) = item
            && let Some(owner) = owner(block, &items, &own)
        {
            lines.modules = items[&owner].clone();
            lines.block(block, &owner);
        }
    }
    lines.found
}

/// Returns the item that an `impl` block belongs to: its type or, for a type of another crate, the trait.
fn owner(block: &syn::ItemImpl, items: &BTreeMap<String, Path>, own: &BTreeSet<String>) -> Option<String> {
    let last = |path: &syn::Path| path.segments.last().map(|last| last.ident.to_string());
    let ty = match &*block.self_ty {
        syn::Type::Path(ty) => last(&ty.path),
        _ => None,
    };
    match ty {
        Some(ty) if items.contains_key(&ty) => Some(ty),
        // Users do not see this type.
        Some(ty) if own.contains(&ty) => None,
        _ => last(&block.trait_.as_ref()?.0).filter(|name| items.contains_key(name)),
    }
}

/// Returns the name of the type that an item defines.
fn type_name(item: &Item) -> Option<String> {
    match item {
        Item::Enum(item) => Some(item.ident.to_string()),
        Item::Struct(item) => Some(item.ident.to_string()),
        Item::Type(item) => Some(item.ident.to_string()),
        _ => None,
    }
}

struct Lines {
    /// The modules under which the current items are listed.
    modules: Path,
    found: BTreeSet<Line>,
}

impl Lines {
    fn add(&mut self, kind: Kind, item: impl ToString, text: String) {
        let (modules, item) = (self.modules.clone(), item.to_string());
        self.found.insert(Line { modules, item, member: None, text, kind });
    }

    fn add_member(&mut self, kind: Kind, item: &impl ToString, member: impl ToString, text: String) {
        let (modules, item, member) = (self.modules.clone(), item.to_string(), Some(member.to_string()));
        self.found.insert(Line { modules, item, member, text, kind });
    }

    fn item(&mut self, item: &Item, scope: &Scope, scopes: &Scopes) {
        let reached = |name: &syn::Ident| is_shown(item) && scopes.reaches(scope, &name.to_string());
        match item {
            Item::Macro(item) => self.macro_(item, scope, scopes),
            Item::Use(import) if is_shown(item) && scopes.is_open(scope) => self.import(import, scope, scopes),
            Item::Mod(syn::ItemMod { attrs, ident, .. }) if is_shown(item) && scopes.is_open(scope) => {
                self.add(Kind::Part, ident, marked(attrs, quote!(mod #ident)));
            }
            Item::Fn(syn::ItemFn { attrs, sig, .. }) if reached(&sig.ident) => {
                self.add(Kind::Item, &sig.ident, marked(attrs, sig));
            }
            Item::Const(syn::ItemConst { attrs, ident, ty, .. }) if reached(ident) => {
                self.add(Kind::Item, ident, marked(attrs, quote!(const #ident: #ty)));
            }
            Item::Static(syn::ItemStatic { attrs, ident, ty, .. }) if reached(ident) => {
                self.add(Kind::Item, ident, marked(attrs, quote!(static #ident: #ty)));
            }
            Item::Type(syn::ItemType { attrs, ident, generics, ty, .. }) if reached(ident) => {
                self.add(Kind::Item, ident, marked(attrs, quote!(type #ident #generics = #ty)));
            }
            Item::Struct(item) if reached(&item.ident) => self.structure(item),
            Item::Enum(item) if reached(&item.ident) => self.enumeration(item),
            Item::Trait(item) if reached(&item.ident) => self.contract(item),
            _ => {}
        }
    }

    fn structure(&mut self, item: &syn::ItemStruct) {
        let syn::ItemStruct { attrs, ident, generics, fields, .. } = item;
        let bounds = &generics.where_clause;
        let mut head = marked(attrs, quote!(struct #ident #generics #bounds));
        // If there are no private fields, users may build the struct from its fields and match on all of them.
        if !fields.is_empty() && fields.iter().all(|field| is_public(&field.vis)) {
            head.push_str(" with public fields only");
        }
        self.add(Kind::Item, ident, head);
        for (index, field) in fields.iter().enumerate() {
            if is_public(&field.vis) && !is_hidden(&field.attrs) {
                let member = field.ident.as_ref().map_or_else(|| index.to_string(), ToString::to_string);
                self.add_member(Kind::Part, ident, member, format!("field {}", marked(&field.attrs, &field.ty)));
            }
        }
    }

    fn enumeration(&mut self, item: &syn::ItemEnum) {
        let syn::ItemEnum { attrs, ident, generics, variants, .. } = item;
        let bounds = &generics.where_clause;
        self.add(Kind::Item, ident, marked(attrs, quote!(enum #ident #generics #bounds)));
        for variant in variants.iter().filter(|variant| !is_hidden(&variant.attrs)) {
            self.add_member(Kind::Part, ident, &variant.ident, format!("variant {}", text(variant)));
        }
    }

    fn contract(&mut self, item: &syn::ItemTrait) {
        let syn::ItemTrait { attrs, ident, generics, supertraits, items, .. } = item;
        let bounds = &generics.where_clause;
        let supertraits = Some(supertraits).filter(|all| !all.is_empty()).map(|all| quote!(: #all));
        self.add(Kind::Item, ident, marked(attrs, quote!(trait #ident #generics #supertraits #bounds)));
        for part in items {
            match part {
                TraitItem::Fn(part) if !is_hidden(&part.attrs) => {
                    self.add_member(Kind::Item, ident, &part.sig.ident, text(part));
                }
                TraitItem::Type(part) => self.add_member(Kind::Part, ident, &part.ident, text(part)),
                TraitItem::Const(part) => self.add_member(Kind::Part, ident, &part.ident, text(part)),
                _ => {}
            }
        }
    }

    /// Adds the public members of an `impl` block, or the line that a trait is implemented.
    fn block(&mut self, block: &syn::ItemImpl, owner: &String) {
        let syn::ItemImpl { attrs, generics, self_ty, items, .. } = block;
        let bounds = &generics.where_clause;
        if let Some((path, _)) = &block.trait_ {
            self.add(Kind::Impl, owner, marked(attrs, quote!(impl #generics #path for #self_ty #bounds)));
            for item in items {
                if let ImplItem::Type(syn::ImplItemType { ident, ty, .. }) = item {
                    self.add(Kind::Impl, owner, text(quote!(impl #path for #self_ty { type #ident = #ty })));
                }
            }
            return;
        }
        // The head shows which instances of a generic type have the member.
        let head = match generics.params.is_empty() && text(self_ty).rsplit("::").next() == Some(owner) {
            true => marked(attrs, quote!()),
            false => marked(attrs, quote!(impl #generics #self_ty #bounds:)) + " ",
        };
        for item in items {
            let (name, member) = match item {
                ImplItem::Fn(syn::ImplItemFn { vis, attrs, sig, .. }) if is_public(vis) && !is_hidden(attrs) => {
                    (&sig.ident, marked(attrs, sig))
                }
                ImplItem::Const(syn::ImplItemConst { vis, attrs, ident, ty, .. })
                    if is_public(vis) && !is_hidden(attrs) =>
                {
                    (ident, marked(attrs, quote!(const #ident: #ty)))
                }
                _ => continue,
            };
            self.add_member(Kind::Item, owner, name, head.clone() + &member);
        }
    }

    /// Adds the names of a `pub use`. Of a path within the crate, only the last name is shown, because the private part
    /// may change.
    fn import(&mut self, import: &syn::ItemUse, scope: &Scope, scopes: &Scopes) {
        for (path, alias) in leaves(&import.tree) {
            let is_own = path.first().is_none_or(|first| scopes.is_own(scope, first));
            let target = if is_own { path.last().cloned().unwrap_or_default() } else { path.join("::") };
            let line = marked(&import.attrs, quote!(use)) + " " + &target;
            match alias {
                Some(alias) => self.add(Kind::Use, alias, line),
                None if !is_own => self.add(Kind::Use, "*", line),
                // For a glob of a module of the crate, the items themselves are listed.
                None => {}
            }
        }
    }

    /// Adds a macro that users can call. For the call of a macro, adds the call if it defines something that users can
    /// name.
    fn macro_(&mut self, item: &syn::ItemMacro, scope: &Scope, scopes: &Scopes) {
        let Some(name) = &item.ident else {
            let made = made_by(&item.mac.tokens).into_iter().find(|name| scopes.reaches(scope, name));
            if let Some(name) = made {
                let (path, tokens) = (&item.mac.path, without_docs(item.mac.tokens.clone()));
                self.add(Kind::Item, name, text(quote!(made by #path!(#tokens))));
            }
            return;
        };
        if item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export")) && !is_hidden(&item.attrs) {
            let modules = self.modules.split_off(1);
            self.add(Kind::Item, name, format!("macro {name}!"));
            self.modules.extend(modules);
        }
    }
}

/// Writes syntax with the attributes before it.
fn marked(attributes: &[Attribute], syntax: impl ToTokens) -> String {
    text(quote!(#(#attributes)* #syntax))
}

/// Returns the names that the call of a macro may define: the first name in it, and the names after the keywords of
/// items.
fn made_by(tokens: &proc_macro2::TokenStream) -> Vec<String> {
    const KEYWORDS: &[&str] = &["const", "enum", "fn", "static", "struct", "trait", "type", "union"];
    let words: Vec<String> = text(without_docs(tokens.clone()))
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty() && *word != "pub")
        .map(str::to_owned)
        .collect();
    let after_keyword =
        words.windows(2).filter(|pair| KEYWORDS.contains(&pair[0].as_str())).map(|pair| pair[1].clone());
    words
        .first()
        .filter(|first| !KEYWORDS.contains(&first.as_str()))
        .cloned()
        .into_iter()
        .chain(after_keyword)
        .collect()
}
