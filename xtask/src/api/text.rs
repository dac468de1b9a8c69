//! Tokens as text on one line: the same text for the same tokens, however the source breaks its lines.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens;

/// Blanks that the printer of tokens sets and a reader does not expect, then the ones that this takes away too many.
const REPLACED: &[(&str, &str)] = &[
    (" ::", "::"),
    (":: ", "::"),
    (" :", ":"),
    (" ;", ";"),
    (" ,", ","),
    (" (", "("),
    (" <", "<"),
    ("< ", "<"),
    (" >", ">"),
    ("& ", "&"),
    ("? ", "?"),
    ("* ", "*"),
    ("# [", "#["),
    (" !(", "!("),
    (",)", ")"),
    (",>", ">"),
    ("->(", "-> ("),
    ("-><", "-> <"),
    (",(", ", ("),
    ("=(", "= ("),
    ("=<", "= <"),
];

/// Writes a piece of syntax on one line.
pub(super) fn text(syntax: impl ToTokens) -> String {
    let mut text = syntax.to_token_stream().to_string();
    for (from, to) in REPLACED {
        text = text.replace(from, to);
    }
    text.trim_end_matches([',', ';']).to_owned()
}

/// Takes `///` comments, which macros get as attributes, out of tokens.
pub(super) fn without_docs(tokens: TokenStream) -> TokenStream {
    let mut rest = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_mark = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
        if is_mark && tokens.next_if(is_doc).is_some() {
            continue;
        }
        rest.extend([match token {
            TokenTree::Group(group) => Group::new(group.delimiter(), without_docs(group.stream())).into(),
            token => token,
        }]);
    }
    rest
}

/// Returns true for the `[doc = "…"]` of a comment.
fn is_doc(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group)
        if matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc"))
}
