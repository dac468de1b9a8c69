//! The lengths of functions.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::source::{Module, is_test};

/// The lengths of all functions with a body, in lines from `fn` to the closing brace; the longest one first.
pub(super) fn lengths(modules: &[Module]) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for module in modules {
        let mut visitor = Lengths { found: Vec::new() };
        visitor.visit_file(&module.syntax);
        all.extend(
            visitor.found.into_iter().map(|(length, name)| (length, format!("{}: {name}", module.file.display()))),
        );
    }
    all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    all
}

struct Lengths {
    found: Vec<(usize, String)>,
}

impl Lengths {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let (first, last) = (signature.fn_token.span().start().line, body.span().end().line);
        self.found.push((last - first + 1, signature.ident.to_string()));
    }
}

impl<'ast> Visit<'ast> for Lengths {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_their_signature_to_their_end() {
        let text = "/// A.\nfn a() {\n}\nimpl B {\n    fn b(\n        &self,\n    ) {\n        fn c() {}\n    }\n}\n#[cfg(test)]\nmod tests {\n fn d() {\n\n\n\n\n\n\n}\n}\n";
        let module = Module { path: Vec::new(), file: "a.rs".into(), syntax: syn::parse_file(text).expect("a file") };
        let expected = [(5, "a.rs: b".to_owned()), (2, "a.rs: a".to_owned()), (1, "a.rs: c".to_owned())];
        assert_eq!(lengths(&[module]), expected);
    }
}
