//! Public items: what is marked `pub`, methods included.
//!
//! The lint `unreachable_pub` keeps the word true, so nothing is resolved here. Fields, variants and re-exports do not
//! count; the methods of a public trait do.

use syn::{ImplItem, Item, TraitItem, Visibility};

use super::source::is_test;

/// The number of public items of a file.
pub(super) fn public(file: &syn::File) -> usize {
    file.items.iter().map(count).sum()
}

fn count(item: &Item) -> usize {
    match item {
        Item::Mod(module) if !is_test(&module.attrs) => {
            module.content.iter().flat_map(|(_, items)| items).map(count).sum()
        }
        Item::Impl(block) if block.trait_.is_none() => block.items.iter().filter(|item| is_public_member(item)).count(),
        Item::Trait(item) if is_public(&item.vis) => {
            1 + item.items.iter().filter(|item| matches!(item, TraitItem::Fn(_))).count()
        }
        Item::Macro(item) => usize::from(item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"))),
        Item::Fn(syn::ItemFn { vis, .. })
        | Item::Struct(syn::ItemStruct { vis, .. })
        | Item::Enum(syn::ItemEnum { vis, .. })
        | Item::Union(syn::ItemUnion { vis, .. })
        | Item::Const(syn::ItemConst { vis, .. })
        | Item::Static(syn::ItemStatic { vis, .. })
        | Item::Type(syn::ItemType { vis, .. }) => usize::from(is_public(vis)),
        _ => 0,
    }
}

fn is_public_member(item: &ImplItem) -> bool {
    match item {
        ImplItem::Fn(function) => is_public(&function.vis),
        ImplItem::Const(constant) => is_public(&constant.vis),
        _ => false,
    }
}

pub(super) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_public_counts_once() {
        let check = |text: &str, expected: usize| {
            assert_eq!(public(&syn::parse_file(text).expect("a file")), expected, "{text}");
        };
        check("pub fn a() {} fn b() {} pub(crate) fn c() {} pub use a::b; pub mod d;", 1);
        check("pub struct A { pub a: u8 } impl A { pub fn a(&self) {} fn b(&self) {} pub const C: u8 = 1; }", 3);
        check("impl Clone for A { fn clone(&self) -> A { A } } pub trait T { fn a(); fn b(); const C: u8; }", 3);
        check("pub mod m { pub enum E { A } } #[cfg(test)] mod tests { pub fn a() {} }", 1);
        check("#[macro_export] macro_rules! a { () => {} } macro_rules! b { () => {} }", 1);
    }
}
