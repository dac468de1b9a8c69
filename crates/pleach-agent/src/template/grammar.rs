//! The grammar of references in instructions.
// L12–L16

/// A piece of a template.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// Text that stays as it is.
    Text(&'t str),
    Reference(Reference<'t>),
}

/// A reference of a template.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reference<'t> {
    State { key: &'t str, optional: bool },
    Artifact { name: &'t str, optional: bool },
}

/// Iterates over the pieces of a template, in order. Joined, they are the template.
pub(super) fn pieces(template: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = template;
    let mut pending = None;
    std::iter::from_fn(move || {
        if let Some(reference) = pending.take() {
            return Some(Piece::Reference(reference));
        }
        let mut from = 0;
        while let Some((start, end)) = braces(template, rest, from) {
            if let Some(reference) = Reference::read(&rest[start..end]) {
                let text = &rest[..start];
                rest = &rest[end..];
                if text.is_empty() {
                    return Some(Piece::Reference(reference));
                }
                pending = Some(reference);
                return Some(Piece::Text(text));
            }
            from = end;
        }
        let text = std::mem::take(&mut rest);
        (!text.is_empty()).then_some(Piece::Text(text))
    })
}

/// Finds the next text in braces at or after `from`: opening braces, letters that are not braces, closing braces.
/// Opening braces after `$` or `\` are skipped.
fn braces(template: &str, rest: &str, from: usize) -> Option<(usize, usize)> {
    let offset = template.len() - rest.len();
    let mut from = from;
    loop {
        let start = from + rest[from..].find('{')?;
        let inside = start + leading(&rest[start..], '{');
        let is_escaped = template[..offset + start].ends_with(['$', '\\']);
        let close = inside + rest[inside..].find(['{', '}'])?;
        if !is_escaped && rest[close..].starts_with('}') {
            return Some((start, close + leading(&rest[close..], '}')));
        }
        from = inside;
    }
}

/// Returns how often a text repeats the letter `letter` at its start. The letter must have one byte.
fn leading(text: &str, letter: char) -> usize {
    text.len() - text.trim_start_matches(letter).len()
}

impl<'t> Reference<'t> {
    /// Reads a text in braces. Returns `None` if it is not a reference.
    fn read(text: &'t str) -> Option<Self> {
        let inside = text.trim_start_matches('{').trim_end_matches('}').trim_matches(is_space);
        let (name, optional) = inside.strip_suffix('?').map_or((inside, false), |name| (name, true));
        if let Some(name) = name.strip_prefix("artifact.") {
            return Some(Self::Artifact { name, optional });
        }
        is_state_key(name).then_some(Self::State { key: name, optional })
    }
}

/// Returns `true` if a letter is a space in Python, where the four separators of ASCII are spaces as well.
fn is_space(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\u{1c}'..='\u{1f}')
}

/// Returns `true` if a name can be a state key: an identifier with or without a prefix.
fn is_state_key(name: &str) -> bool {
    match name.split_once(':') {
        None => is_identifier(name),
        Some((prefix, name)) => matches!(prefix, "app" | "user" | "temp") && is_identifier(name),
    }
}

/// Returns `true` if a name is an identifier in Python. Keywords are accepted as well.
fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    let is_first = |letter: char| letter == '_' || unicode_ident::is_xid_start(letter);
    letters.next().is_some_and(is_first) && letters.all(unicode_ident::is_xid_continue)
}
