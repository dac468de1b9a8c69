//! [`Lines`]: messages in the output of a child, which may be spread over lines, joined on one, or lie among the lines of a log.

use std::mem;

use pleach_core::mend_json;
use serde_json::{Map, Value};

use super::scan::{Extent, Shape};

/// A piece of output that may be a message.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    /// An object or an array by its brackets.
    Whole(Vec<u8>),
    /// The beginning of one that has no end.
    Broken(Vec<u8>),
    /// An object at the end of a line of a log, which is a message if it answers a request.
    InLog(Vec<u8>),
}

/// Joins lines to messages.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The beginning of an object or an array whose end has not come.
    begun: Vec<u8>,
    shape: Shape,
}

impl Lines {
    /// Returns how many bytes are kept.
    pub(super) fn kept(&self) -> usize {
        self.begun.len()
    }

    /// Takes the next line, without its end, and hands on each piece that it ends.
    pub(super) fn push(&mut self, line: &[u8], take: &mut impl FnMut(Piece)) {
        let line = trimmed(line);
        if self.begun.is_empty() {
            self.begin(line, take);
        } else if is_message(line) {
            self.give_up().into_iter().for_each(&mut *take);
            self.begin(line, take);
        } else {
            self.begun.push(b'\n');
            if let Some(rest) = self.extend(line, take) {
                self.begin(rest, take);
            }
        }
    }

    /// Returns what has begun and gets no end.
    pub(super) fn give_up(&mut self) -> Option<Piece> {
        self.shape = Shape::default();
        Some(mem::take(&mut self.begun)).filter(|begun| !begun.is_empty()).map(Piece::Broken)
    }

    /// Takes text after which nothing has begun. A line may have any number of objects.
    fn begin(&mut self, text: &[u8], take: &mut impl FnMut(Piece)) {
        let mut text = text;
        while begins_json(text) {
            match self.extend(text, take) {
                Some(rest) => text = rest,
                None => return,
            }
        }
        if let Some(object) = object_in_log(text) {
            take(Piece::InLog(object.to_vec()));
        }
    }

    /// Adds text to what has begun. Returns the text after its end, if it ends.
    fn extend<'t>(&mut self, text: &'t [u8], take: &mut impl FnMut(Piece)) -> Option<&'t [u8]> {
        match self.shape.follow(text) {
            Extent::Open => {
                self.begun.extend_from_slice(text);
                None
            }
            Extent::Broken => {
                self.begun.extend_from_slice(text);
                self.give_up().into_iter().for_each(take);
                None
            }
            Extent::Ends(length) => {
                self.begun.extend_from_slice(&text[..length]);
                self.shape = Shape::default();
                take(Piece::Whole(mem::take(&mut self.begun)));
                Some(trimmed(&text[length..]))
            }
        }
    }
}

/// Whether text is a message by itself, and not a part of one.
pub(super) fn is_message(text: &[u8]) -> bool {
    let text = trimmed(text);
    let text = text.strip_suffix(b",").unwrap_or(text);
    if !begins_json(text) || Shape::default().follow(text) != Extent::Ends(text.len()) {
        return false;
    }
    serde_json::from_slice::<Map<String, Value>>(&mend_json(text)).is_ok_and(|object| object.contains_key("jsonrpc"))
}

/// Whether text begins as an object or as a list of objects does. A line of a log may begin with a bracket, too: `[info] ready`.
fn begins_json(text: &[u8]) -> bool {
    let Some((first, rest)) = text.split_first() else { return false };
    let second = rest.trim_ascii_start().first();
    match first {
        b'{' => matches!(second, None | Some(b'"' | b'}')),
        b'[' => matches!(second, None | Some(b'{' | b']')),
        _ => false,
    }
}

/// Returns the object with the mark of the protocol that a line of a log has after its beginning.
fn object_in_log(line: &[u8]) -> Option<&[u8]> {
    const MARK: &[u8] = b"\"jsonrpc\"";
    let mark = line.windows(MARK.len()).position(|window| window == MARK)?;
    let start = line[..mark].iter().rposition(|byte| *byte == b'{')?;
    match Shape::default().follow(&line[start..]) {
        Extent::Ends(length) => Some(&line[start..start + length]),
        Extent::Open | Extent::Broken => None,
    }
}

/// Text without white space at its ends, and without the mark that files of some editors begin with.
fn trimmed(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii();
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], expected: &[Piece]) {
        let mut reader = Lines::default();
        let mut pieces = Vec::new();
        lines.iter().for_each(|line| reader.push(line.as_bytes(), &mut |piece| pieces.push(piece)));
        pieces.extend(reader.give_up());
        assert_eq!(pieces, expected, "{lines:?}");
    }

    fn whole(text: &str) -> Piece {
        Piece::Whole(text.into())
    }

    fn broken(text: &str) -> Piece {
        Piece::Broken(text.into())
    }

    #[test]
    fn a_line_is_a_message() {
        check(&[r#"{"a":1}"#, "", "  [{}]\r"], &[whole(r#"{"a":1}"#), whole("[{}]")]);
        check(&["\u{feff}{\"a\":1}\r"], &[whole(r#"{"a":1}"#)]);
    }

    #[test]
    fn log_lines_are_passed_over() {
        check(&["starting…", "[info] {x}", "{'a': 1}", "{ready}", "3", "null", "[12:00 x", "\"text\""], &[]);
    }

    #[test]
    fn messages_are_joined_from_lines_and_cut_from_one() {
        check(&["{", r#"  "a": ["#, "1", "]", "}"], &[whole("{\n\"a\": [\n1\n]\n}")]);
        check(&[r#"{"a":1}{"b":2} {"c":"#, "3}"], &[whole(r#"{"a":1}"#), whole(r#"{"b":2}"#), whole("{\"c\":\n3}")]);
        check(&[r#"{"a":"x"#, r#"y"}"#], &[whole("{\"a\":\"x\ny\"}")]);
        check(&[r#"{"a":1} done"#], &[whole(r#"{"a":1}"#)]);
    }

    #[test]
    fn what_gets_no_end_is_given_up_when_a_message_follows() {
        let next = r#"{"jsonrpc":"2.0","id":1}"#;
        check(&[r#"{"broken"#, "\u{1}", "{}", next], &[broken("{\"broken\n\u{1}\n{}"), whole(next)]);
        check(&[r#"{"a":[}"#, next], &[broken(r#"{"a":[}"#), whole(next)]);
        check(&["[", &format!("{next},"), next, "]"], &[broken("["), whole(next), whole(next)]);
        check(&["{", r#""a":{"jsonrpc":1}"#, "}"], &[whole("{\n\"a\":{\"jsonrpc\":1}\n}")]);
    }

    #[test]
    fn a_line_may_have_any_number_of_objects() {
        let mut count = 0;
        Lines::default().push("{}".repeat(100_000).as_bytes(), &mut |_| count += 1);
        assert_eq!(count, 100_000);
    }

    #[test]
    fn a_message_at_the_end_of_a_log_line_is_found() {
        let message = r#"{"jsonrpc":"2.0","id":1,"result":{"a":{}}}"#;
        check(&[&format!("Loading... {message} ok")], &[Piece::InLog(message.into())]);
        check(&[r#"sends {"jsonrpc":"2.0","id":1,"result":{…"#], &[]);
    }
}
