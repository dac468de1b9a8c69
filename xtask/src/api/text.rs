//! Tokens as text on one line.
//!
//! The text need not be what rustfmt writes. It must be the same for the same tokens, however the source breaks its lines.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// Marks of two or three characters that are one token to a reader.
const COMPOUND: &[&str] = &["->", "=>", "::", "..=", "...", "..", "==", "&&", "||"];

/// Writes a piece of syntax on one line.
pub(super) fn of(syntax: &impl ToTokens) -> String {
    line(syntax.to_token_stream())
}

/// Writes tokens on one line.
pub(super) fn line(tokens: TokenStream) -> String {
    let mut words = Vec::new();
    add(tokens, &mut words);
    let mut out = String::new();
    for (index, word) in words.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| words[before].as_str());
        if before.is_some_and(|before| is_apart(before, word)) {
            out.push(' ');
        }
        out.push_str(word);
    }
    out.replace(",)", ")").replace(",>", ">")
}

/// Adds the words of tokens: identifiers, literals, lifetimes, marks, brackets.
fn add(tokens: TokenStream, words: &mut Vec<String>) {
    let (mut mark, mut quote) = (String::new(), "");
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                words.extend(marks(&std::mem::take(&mut mark)));
                quote = "'";
            }
            TokenTree::Punct(punct) => {
                mark.push(punct.as_char());
                let joins = punct.spacing() == Spacing::Joint && COMPOUND.iter().any(|one| one.starts_with(&mark));
                if !joins {
                    words.extend(marks(&std::mem::take(&mut mark)));
                }
            }
            TokenTree::Ident(name) => {
                words.extend(marks(&std::mem::take(&mut mark)));
                words.push(format!("{}{name}", std::mem::take(&mut quote)));
            }
            TokenTree::Literal(literal) => words.push(literal.to_string()),
            TokenTree::Group(group) => {
                let (open, close) = brackets(group.delimiter());
                words.extend(open.map(str::to_owned));
                add(group.stream(), words);
                words.extend(close.map(str::to_owned));
            }
        }
    }
}

/// A run of marks as words: `>>` and `>,` are several.
fn marks(run: &str) -> Vec<String> {
    match COMPOUND.contains(&run) {
        true => vec![run.to_owned()],
        false => run.chars().map(String::from).collect(),
    }
}

fn brackets(delimiter: Delimiter) -> (Option<&'static str>, Option<&'static str>) {
    match delimiter {
        Delimiter::Parenthesis => (Some("("), Some(")")),
        Delimiter::Bracket => (Some("["), Some("]")),
        Delimiter::Brace => (Some("{"), Some("}")),
        Delimiter::None => (None, None),
    }
}

/// Whether there is a blank between two words.
fn is_apart(before: &str, word: &str) -> bool {
    let is_name =
        |text: &str| text.chars().next().is_some_and(|first| first.is_alphanumeric() || "_'\"".contains(first));
    match (before, word) {
        ("+" | ":" | ",", "?") => true,
        (_, "," | ";" | ":" | ")" | "]" | ">" | "::" | "." | "?") => false,
        ("(" | "[" | "<" | "::" | "&" | "*" | "." | "#" | "!" | "?", _) => false,
        ("}", _) | (_, "{" | "}") | ("{", _) => true,
        (_, "(" | "<" | "!") => !is_name(before) && before != ">" && before != "]",
        (_, "[") => true,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_written_on_one_line() {
        let check = |source: &str, expected: &str| {
            let signature: syn::ItemFn = syn::parse_str(&format!("{source} {{}}")).expect("a function");
            assert_eq!(of(&signature.sig), expected);
            assert_eq!(of(&signature.sig), line(expected.parse().expect("tokens")), "the text is stable");
        };
        check("fn a(&self) -> Option<&'static str>", "fn a(&self) -> Option<&'static str>");
        check(
            "fn b<T: Into<Value> + 'a, const N: usize>(\n mut self,\n x: [T; N],\n) -> Vec<Vec<T>>",
            "fn b<T: Into<Value> + 'a, const N: usize>(mut self, x: [T; N]) -> Vec<Vec<T>>",
        );
        check(
            "async fn c<F>(f: F) -> (A, B) where F: for<'a> Fn(&'a mut T) -> u8 + ?Sized,",
            "async fn c<F>(f: F) -> (A, B) where F: for<'a> Fn(&'a mut T) -> u8 + ?Sized,",
        );
        check(
            "fn d(x: <T as Iterator>::Item, y: &dyn Fn()) -> impl Iterator<Item = u8> + use<'_>",
            "fn d(x: <T as Iterator>::Item, y: &dyn Fn()) -> impl Iterator<Item = u8> + use<'_>",
        );
        check("fn e(x: *const u8, y: fn(u8) -> u8) -> !", "fn e(x: *const u8, y: fn(u8) -> u8) -> !");
    }
}
