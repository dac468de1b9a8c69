//! Scans brackets and strings of JSON text that may be cut off or broken.

/// The end of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Extent {
    /// The value ends after this many bytes.
    Ends(usize),
    /// The value is not closed within the text.
    Open,
    /// The value has no end, because a bracket is closed by a bracket of another kind.
    Broken,
}

/// Follows the brackets and strings of one object or array through pieces of text. Strings may have single quotes,
/// which some languages print.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    /// The closing brackets that are expected, the next one last.
    closing: Vec<u8>,
    /// The quote that ends the string.
    quote: Option<u8>,
    is_escaped: bool,
    /// The last byte outside strings that is not white space.
    last: u8,
}

impl Shape {
    /// Continues with the next piece.
    pub(super) fn follow(&mut self, piece: &[u8]) -> Extent {
        for (place, byte) in piece.iter().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.quote.is_some() => self.is_escaped = true,
                byte if self.quote == Some(*byte) => self.quote = None,
                _ if self.quote.is_some() => {}
                byte if self.begins_string(*byte) => {
                    self.quote = Some(*byte);
                    self.last = *byte;
                }
                b'{' => self.open(b'{', b'}'),
                b'[' => self.open(b'[', b']'),
                b'}' | b']' => {
                    self.last = *byte;
                    if self.closing.pop() != Some(*byte) {
                        return Extent::Broken;
                    }
                    if self.closing.is_empty() {
                        return Extent::Ends(place + 1);
                    }
                }
                byte if byte.is_ascii_whitespace() => {}
                byte => self.last = *byte,
            }
        }
        Extent::Open
    }

    fn open(&mut self, bracket: u8, closing: u8) {
        self.closing.push(closing);
        self.last = bracket;
    }

    /// Returns true if a quote begins a string. A single quote where no string can begin is an apostrophe.
    fn begins_string(&self, byte: u8) -> bool {
        match byte {
            b'"' => true,
            b'\'' => matches!(self.last, b'{' | b'[' | b'(' | b',' | b':' | b'=' | b'>'),
            _ => false,
        }
    }

    fn depth(&self) -> usize {
        self.closing.len()
    }
}

/// The ids and kinds found in the text of a message that cannot be read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    /// The ids of the message, or of the messages of a batch.
    pub(super) ids: Vec<i64>,
    /// Other numbers with the key `id`.
    pub(super) inner_ids: Vec<i64>,
    has_method: bool,
    has_result: bool,
    /// Whether the text names the protocol (`jsonrpc`).
    is_marked: bool,
    /// Whether a key has another notation than in JSON.
    is_printed: bool,
}

impl Found {
    /// Returns true if the text was meant to answer a request. An object in the notation of another language must name
    /// the protocol, because logs often contain objects.
    pub(super) fn is_answer(&self) -> bool {
        let has_result = self.has_result && (self.is_marked || !self.is_printed);
        !self.has_method && (has_result || (self.is_marked && !self.ids.is_empty()))
    }
}

/// Finds the members of a message of the protocol, in JSON and in the notations that Python, JavaScript, Ruby and Java
/// print.
pub(super) fn message(text: &[u8]) -> Found {
    let mut found = Found::default();
    let mut shape = Shape::default();
    let top = if text.trim_ascii_start().starts_with(b"[") { 2 } else { 1 };
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        let (key, end) = if shape.quote.is_none() && shape.begins_string(byte) {
            let end = string_end(text, at);
            (&text[at + 1..end], (end + 1).min(text.len()))
        } else if shape.quote.is_none() && is_word_byte(byte) {
            let length = text[at..].iter().take_while(|byte| is_word_byte(**byte)).count();
            (&text[at..at + length], at + length)
        } else {
            shape.follow(&text[at..=at]);
            at += 1;
            continue;
        };
        shape.follow(&text[at..end]);
        at = end;
        let Some((value, is_colon)) = after_separator(&text[at..]) else { continue };
        let is_top = shape.depth() <= top;
        match key {
            b"id" if is_top => found.ids.extend(integer(value)),
            b"id" => found.inner_ids.extend(integer(value)),
            b"method" if is_top => found.has_method = true,
            b"result" | b"error" if is_top => found.has_result = true,
            b"jsonrpc" => found.is_marked = true,
            _ => continue,
        }
        found.is_printed |= byte != b'"' || !is_colon;
    }
    found
}

/// Returns the first key of an object, from the text after its bracket.
pub(super) fn first_key(text: &[u8]) -> Option<&[u8]> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b":").unwrap_or(text);
    let (key, rest) = match text.first()? {
        b'"' | b'\'' => {
            let end = string_end(text, 0);
            (&text[1..end], text.get(end + 1..)?)
        }
        _ => text.split_at(text.iter().take_while(|byte| is_word_byte(**byte)).count()),
    };
    after_separator(rest).map(|_| key)
}

/// Returns the end of the string whose quote is at `start`: the closing quote, or the end of the text.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut is_escaped = false;
    for (place, byte) in text.iter().enumerate().skip(start + 1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            byte if *byte == text[start] => return place,
            _ => {}
        }
    }
    text.len()
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the text after the separator of a key, and whether the separator is a colon.
fn after_separator(text: &[u8]) -> Option<(&[u8], bool)> {
    let text = text.trim_ascii_start();
    let rest = [&b":"[..], b"=>", b"="].iter().find_map(|separator| text.strip_prefix(*separator))?;
    Some((rest.trim_ascii_start(), text.starts_with(b":")))
}

/// Returns the integer that the text begins with, in quotes or not.
fn integer(text: &[u8]) -> Option<i64> {
    let text = text.strip_prefix(b"\"").or_else(|| text.strip_prefix(b"'")).unwrap_or(text);
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
            (r#"{'a': ['}', "it's"], 'b"': 1}x"#, Extent::Ends(29)),
            ("{it's: 1}x", Extent::Ends(9)),
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
        let expected =
            Found { ids: vec![12], inner_ids: vec![5], has_result: true, is_marked: true, ..Found::default() };
        assert_eq!(found, expected);
        assert!(found.is_answer());
        assert!(!message(br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"#).is_answer());
        assert!(!message(br#"{"id": 4, "level": "info"#).is_answer());
        assert!(!message(b"").is_answer());
        assert!(message(br#"{"jsonrpc":"2.0","id":1,"res"#).is_answer());
        assert_eq!(message(br#"[{"jsonrpc":"2.0","id":1,"result":x},{"id":2,"result":{"id":3}}"#).ids, [1, 2]);
    }

    #[test]
    fn members_are_found_in_what_other_languages_print() {
        for text in [
            r#"{'jsonrpc': '2.0', 'id': 7, 'result': {'text': "it's", 'id': 1}}"#,
            r#"{'id': '7', 'result': {'a': None}, 'jsonrpc': '2.0'}"#,
            "{ jsonrpc: '2.0', id: 7, result: { tools: [ [Object] ] } }",
            "{:jsonrpc=>\"2.0\", :id=>7, :result=>{:tools=>[]}}",
            r#"{"jsonrpc"=>"2.0", "id"=>7, "result"=>{}}"#,
            "{jsonrpc=2.0, id=7, result={tools=[]}}",
            r#"[{'jsonrpc': '2.0', 'id': 7, 'error': {'code': -1}}]"#,
        ] {
            let found = message(text.as_bytes());
            assert!(found.is_answer() && found.is_printed && found.ids == [7], "{text}: {found:?}");
        }
        for text in ["{'id': 7, 'result': 'ok'}", "{ id: 7, error: 'x' }", "{'jsonrpc': '2.0', 'id': 7, 'method': 'x'}"]
        {
            assert!(!message(text.as_bytes()).is_answer(), "{text}");
        }
        assert!(message(br#"{"result":{it's},"id":7}"#).is_answer());
    }
}
