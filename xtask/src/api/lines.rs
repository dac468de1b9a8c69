//! The lines of an item: what a user's code can name or call of it, one line each.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::{Fields, ImplItem, Item, TraitItem, Visibility};

use super::text;

/// A line: what follows the path of the item, and what it is.
pub(super) type Line = (String, String);

/// Attributes that are part of what users see.
const SEEN: &[&str] =
    &["cfg", "deprecated", "non_exhaustive", "proc_macro", "proc_macro_attribute", "proc_macro_derive"];

/// The attributes of an item that are part of what users see.
pub(super) fn marks(item: &Item) -> Vec<String> {
    seen(super::tree::attributes(item))
}

fn seen(attributes: &[syn::Attribute]) -> Vec<String> {
    let is_seen = |attribute: &&syn::Attribute| SEEN.iter().any(|name| attribute.path().is_ident(name));
    attributes.iter().filter(is_seen).map(text::of).collect()
}

/// Whether documentation leaves an item out, and so no user is to rely on it.
pub(super) fn is_hidden(attributes: &[syn::Attribute]) -> bool {
    let hidden = |attribute: &syn::Attribute| {
        attribute.path().is_ident("doc")
            && attribute.parse_args::<syn::Path>().is_ok_and(|argument| argument.is_ident("hidden"))
    };
    attributes.iter().any(hidden)
}

/// The lines of an item. The first one is the item itself.
pub(super) fn of(item: &Item) -> Vec<Line> {
    match item {
        Item::Mod(item) => vec![own(format!("mod {}", item.ident))],
        Item::Const(item) => vec![own(format!("const {}: {}", item.ident, text::of(&item.ty)))],
        Item::Static(item) => vec![own(format!("static {}: {}", item.ident, text::of(&item.ty)))],
        Item::Fn(item) => vec![own(text::of(&item.sig))],
        Item::Type(item) => {
            let (generics, _, bounds) = item.generics.split_for_impl();
            let ty = &item.ty;
            vec![own(format!("type {}{} = {}{}", item.ident, text::of(&generics), text::of(ty), clause(&bounds)))]
        }
        Item::Struct(item) => record("struct", &item.ident, &item.generics, &item.fields, &item.attrs),
        Item::Enum(item) => {
            let mut lines = vec![own(declared("enum", &item.ident, &item.generics))];
            lines.extend(derived(&item.attrs));
            lines.extend(item.variants.iter().filter(|variant| !is_hidden(&variant.attrs)).map(variant));
            lines
        }
        Item::Trait(item) => contract(item),
        Item::Macro(item) => match &item.ident {
            Some(name) => vec![own(format!("macro {name}!"))],
            // What it makes is not known here, so the call is shown.
            None => vec![own(format!("made by {}!({})", text::of(&item.mac.path), without_docs(&item.mac.tokens)))],
        },
        Item::Union(item) => vec![own(declared("union", &item.ident, &item.generics))],
        _ => Vec::new(),
    }
}

fn own(text: String) -> Line {
    (String::new(), text)
}

fn member(name: impl std::fmt::Display, text: String, attributes: &[syn::Attribute]) -> Line {
    (format!("::{name}"), seen(attributes).into_iter().chain([text]).collect::<Vec<_>>().join(" "))
}

/// `where` and its bounds, after a blank.
fn clause(bounds: &Option<&syn::WhereClause>) -> String {
    bounds.map(|bounds| format!(" {}", text::of(bounds))).unwrap_or_default()
}

fn declared(kind: &str, name: &syn::Ident, generics: &syn::Generics) -> String {
    let parameters = &generics.params;
    let parameters = if parameters.is_empty() { String::new() } else { text::line(quote!(<#parameters>)) };
    format!("{kind} {name}{parameters}{}", clause(&generics.where_clause.as_ref()))
}

fn record(
    kind: &str,
    name: &syn::Ident,
    generics: &syn::Generics,
    fields: &Fields,
    attributes: &[syn::Attribute],
) -> Vec<Line> {
    let mut lines = vec![own(declared(kind, name, generics))];
    lines.extend(derived(attributes));
    for (index, field) in fields.iter().enumerate() {
        if is_public(&field.vis) && !is_hidden(&field.attrs) {
            let name = field.ident.as_ref().map_or_else(|| index.to_string(), ToString::to_string);
            lines.push(member(name, format!("field: {}", text::of(&field.ty)), &field.attrs));
        }
    }
    // Without private fields users may build it from its fields, and match on all of them.
    if !fields.is_empty() && fields.iter().all(|field| is_public(&field.vis)) {
        lines[0].1.push_str(" with public fields only");
    }
    lines
}

fn variant(variant: &syn::Variant) -> Line {
    let fields = match &variant.fields {
        Fields::Unit => String::new(),
        Fields::Unnamed(fields) => {
            let types: Vec<String> = fields.unnamed.iter().map(|field| text::of(&field.ty)).collect();
            format!("({})", types.join(", "))
        }
        Fields::Named(fields) => {
            let field = |field: &syn::Field| format!("{}: {}", text::of(&field.ident), text::of(&field.ty));
            format!(" {{ {} }}", fields.named.iter().map(field).collect::<Vec<_>>().join(", "))
        }
    };
    member(&variant.ident, format!("variant {}{fields}", variant.ident), &variant.attrs)
}

/// The traits that an item derives.
fn derived(attributes: &[syn::Attribute]) -> Vec<Line> {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        // A fault here is one of the compiler's to report.
        let _ = attribute.parse_nested_meta(|derive| {
            lines.push(own(format!("derive {}", text::of(&derive.path))));
            Ok(())
        });
    }
    lines
}

fn contract(item: &syn::ItemTrait) -> Vec<Line> {
    let supertraits = &item.supertraits;
    let above = if supertraits.is_empty() { String::new() } else { format!(": {}", text::of(supertraits)) };
    let mut lines = vec![own(format!("{}{above}", declared("trait", &item.ident, &item.generics)))];
    for part in &item.items {
        lines.extend(match part {
            TraitItem::Fn(function) if !is_hidden(&function.attrs) => {
                let provided = if function.default.is_some() { " { … }" } else { "" };
                Some(member(&function.sig.ident, text::of(&function.sig) + provided, &function.attrs))
            }
            TraitItem::Type(item) => {
                let bounds = &item.bounds;
                let bounds = if bounds.is_empty() { String::new() } else { format!(": {}", text::of(bounds)) };
                Some(member(&item.ident, format!("type {}{bounds}", item.ident), &item.attrs))
            }
            TraitItem::Const(item) => {
                Some(member(&item.ident, format!("const {}: {}", item.ident, text::of(&item.ty)), &item.attrs))
            }
            _ => None,
        });
    }
    lines
}

/// The lines of an `impl` block: its public members, or that the trait is implemented.
pub(super) fn of_impl(block: &syn::ItemImpl) -> Vec<Line> {
    let parameters = &block.generics.params;
    let parameters = if parameters.is_empty() { String::new() } else { text::line(quote!(<#parameters>)) };
    let bounds = clause(&block.generics.where_clause.as_ref());
    let ty = text::of(&block.self_ty);
    let marks = seen(&block.attrs);
    let marked = |text: String| marks.iter().cloned().chain([text]).collect::<Vec<_>>().join(" ");
    if let Some((path, _)) = &block.trait_ {
        let mut lines = vec![own(marked(format!("impl{parameters} {} for {ty}{bounds}", text::of(path))))];
        for item in &block.items {
            if let ImplItem::Type(item) = item {
                lines.push(own(format!(
                    "impl {} for {ty}: type {} = {}",
                    text::of(path),
                    item.ident,
                    text::of(&item.ty)
                )));
            }
        }
        return lines;
    }
    // Which types have the method counts where not all of them do.
    let of = if is_plain(block) { String::new() } else { format!("impl{parameters} {ty}{bounds}: ") };
    let members = block.items.iter().filter_map(|item| match item {
        ImplItem::Fn(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
            let text = marked(format!("{of}{}", text::of(&item.sig)));
            Some(member(&item.sig.ident, text, &item.attrs))
        }
        ImplItem::Const(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
            let text = marked(format!("{of}const {}: {}", item.ident, text::of(&item.ty)));
            Some(member(&item.ident, text, &item.attrs))
        }
        _ => None,
    });
    members.collect()
}

/// Whether a block is of a type without arguments, or of all of its instances.
fn is_plain(block: &syn::ItemImpl) -> bool {
    let bound = |parameter: &syn::GenericParam| match parameter {
        syn::GenericParam::Type(parameter) => !parameter.bounds.is_empty(),
        _ => false,
    };
    let arguments = match &*block.self_ty {
        syn::Type::Path(path) => path.path.segments.last().map(|last| last.arguments.to_token_stream()),
        _ => return false,
    };
    let concrete = block.generics.params.is_empty() && arguments.is_some_and(|arguments| !arguments.is_empty());
    !concrete && block.generics.where_clause.is_none() && !block.generics.params.iter().any(bound)
}

/// Tokens without `///` comments, which macros get as attributes.
fn without_docs(tokens: &TokenStream) -> String {
    text::line(uncommented(tokens.clone()))
}

fn uncommented(tokens: TokenStream) -> TokenStream {
    let mut rest = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_mark = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
        if is_mark && tokens.next_if(is_doc).is_some() {
            continue;
        }
        rest.extend([match token {
            TokenTree::Group(group) => Group::new(group.delimiter(), uncommented(group.stream())).into(),
            token => token,
        }]);
    }
    rest
}

/// Whether a token is the `[doc = "…"]` of a comment.
fn is_doc(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group)
        if matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc"))
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}
