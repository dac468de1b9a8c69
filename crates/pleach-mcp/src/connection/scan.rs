//! Brackets and strings of JSON text that may be cut or broken.

/// Where a value ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Extent {
    /// After so many bytes.
    Ends(usize),
    /// Later than the text.
    Open,
    /// Nowhere: a bracket is closed by another one.
    Broken,
}

/// Follows the brackets and strings of one object or array through pieces of text.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    /// The closing brackets to come, the next one last.
    closing: Vec<u8>,
    in_string: bool,
    is_escaped: bool,
}

impl Shape {
    /// Continues with the next piece.
    pub(super) fn follow(&mut self, piece: &[u8]) -> Extent {
        for (place, byte) in piece.iter().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' => self.closing.push(b'}'),
                b'[' => self.closing.push(b']'),
                b'}' | b']' => {
                    if self.closing.pop() != Some(*byte) {
                        return Extent::Broken;
                    }
                    if self.closing.is_empty() {
                        return Extent::Ends(place + 1);
                    }
                }
                _ => {}
            }
        }
        Extent::Open
    }

    fn depth(&self) -> usize {
        self.closing.len()
    }
}

/// What is found in the text of a message that cannot be read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    /// The id of the message.
    pub(super) id: Option<i64>,
    /// Other numbers under a key `id`.
    pub(super) inner_ids: Vec<i64>,
    has_method: bool,
    has_result: bool,
    is_marked: bool,
}

impl Found {
    /// Whether the text was meant to answer a request.
    pub(super) fn is_answer(&self) -> bool {
        !self.has_method && (self.has_result || (self.is_marked && self.id.is_some()))
    }
}

/// Looks for the members that a message of the protocol has.
pub(super) fn message(text: &[u8]) -> Found {
    let mut found = Found::default();
    let mut shape = Shape::default();
    let mut at = 0;
    while at < text.len() {
        let Some(end) = (!shape.in_string && text[at] == b'"').then(|| string_end(text, at)) else {
            shape.follow(&text[at..=at]);
            at += 1;
            continue;
        };
        let key = &text[at + 1..end];
        at = (end + 1).min(text.len());
        let Some(value) = after_colon(&text[at..]) else { continue };
        match key {
            b"id" if shape.depth() <= 1 => found.id = integer(value),
            b"id" => found.inner_ids.extend(integer(value)),
            b"method" if shape.depth() <= 1 => found.has_method = true,
            b"result" | b"error" if shape.depth() <= 1 => found.has_result = true,
            b"jsonrpc" => found.is_marked = true,
            _ => {}
        }
    }
    found
}

/// Returns where the string ends that begins at `start`: at its closing quote, or at the end of the text.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut is_escaped = false;
    for (place, byte) in text.iter().enumerate().skip(start + 1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return place,
            _ => {}
        }
    }
    text.len()
}

fn after_colon(text: &[u8]) -> Option<&[u8]> {
    Some(text.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start())
}

/// Returns the integer that the text begins with, in quotes or not.
fn integer(text: &[u8]) -> Option<i64> {
    let text = text.strip_prefix(b"\"").unwrap_or(text);
    let length = text.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'-').count();
    std::str::from_utf8(&text[..length]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_value_is_found_in_pieces_of_any_size() {
        for (text, extent) in [
            (r#"{"a":[1,{"b":"}]\""}]}{"#, Extent::Ends(22)),
            (r#"{"a":[1"#, Extent::Open),
            (r#"{"a":"}"#, Extent::Open),
            (r#"{"a":[}"#, Extent::Broken),
            ("[]x", Extent::Ends(2)),
        ] {
            assert_eq!(Shape::default().follow(text.as_bytes()), extent, "{text}");
            let mut shape = Shape::default();
            let mut last = Extent::Open;
            for (place, byte) in text.bytes().enumerate() {
                last = match shape.follow(&[byte]) {
                    Extent::Ends(_) => Extent::Ends(place + 1),
                    other => other,
                };
                if last != Extent::Open {
                    break;
                }
            }
            assert_eq!(last, extent, "{text}");
        }
    }

    #[test]
    fn members_of_a_broken_message_are_found() {
        let found = message(br#"{"jsonrpc":"2.0", "id" : "12", "result": {"id": 5, "text": "\"id\": 7"#);
        assert_eq!(
            found,
            Found { id: Some(12), inner_ids: vec![5], has_method: false, has_result: true, is_marked: true }
        );
        assert!(found.is_answer());
        assert!(!message(br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"#).is_answer());
        assert!(!message(br#"{"id": 4, "level": "info"#).is_answer());
        assert!(!message(b"").is_answer());
        assert!(message(br#"{"jsonrpc":"2.0","id":1,"res"#).is_answer());
    }
}
