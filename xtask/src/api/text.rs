//! Writes tokens as text on one line. The text does not depend on line breaks in the source.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens;

/// The replacements that remove unusual blanks from the printed tokens. The last ones restore blanks that the others
/// remove by mistake.
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

/// Removes `///` comments, which macros get as attributes.
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

/// Returns true for the `[doc = "…"]` that stands for a comment.
fn is_doc(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group)
        if matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc"))
}
