//! [`Lines`]: finds messages in the output of a child. Messages may be spread over lines, share a line, or be mixed
//! with lines of a log.

use std::mem;
use std::ops::Range;

use pleach_core::{Map, mend_json};
use serde::de::IgnoredAny;

use super::scan::{self, Extent, Shape};

/// A piece of output that may be a message.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    /// An object or an array whose brackets match.
    Whole(Vec<u8>),
    /// An object or an array whose brackets do not match.
    Broken(Vec<u8>),
    /// The beginning of an object or an array whose end is missing.
    Cut(Vec<u8>),
    /// A message on a line of a log.
    InLog(Vec<u8>),
}

/// Joins lines into messages.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The beginning of an object or an array whose end has not come.
    begun: Vec<u8>,
    shape: Shape,
}

impl Lines {
    /// Returns how many bytes of an unfinished message are kept.
    pub(super) fn kept(&self) -> usize {
        self.begun.len()
    }

    /// Takes the next line, without its line break, and emits each piece that it completes.
    pub(super) fn push(&mut self, line: &[u8], take: &mut impl FnMut(Piece)) {
        let line = trimmed(line);
        if self.begun.is_empty() {
            self.begin(line, take);
        } else if is_message(line) {
            self.give_up(take);
            self.begin(line, take);
        } else {
            self.begun.push(b'\n');
            if let Some(rest) = self.extend(line, take) {
                self.begin(rest, take);
            }
        }
    }

    /// Emits the unfinished piece, because its end will not come.
    pub(super) fn give_up(&mut self, take: &mut impl FnMut(Piece)) {
        self.shape = Shape::default();
        let begun = mem::take(&mut self.begun);
        if !begun.is_empty() {
            recover(&begun, take);
            take(Piece::Cut(begun));
        }
    }

    /// Returns the size of the unfinished message, including the current line, without white space.
    pub(super) fn grown(&self, line: &[u8]) -> usize {
        [&self.begun[..], line].into_iter().flatten().filter(|byte| !byte.is_ascii_whitespace()).count()
    }

    /// Returns true if the unfinished piece with the current line is still the beginning of JSON, and not followed by
    /// other text.
    pub(super) fn is_json_so_far(&self, line: &[u8]) -> bool {
        let text = [&self.begun, &b"\n"[..], line].concat();
        serde_json::from_slice::<IgnoredAny>(&text).map_or_else(|error| error.is_eof(), |_| true)
    }

    /// Takes text when no piece is unfinished. The text may have any number of objects.
    fn begin(&mut self, text: &[u8], take: &mut impl FnMut(Piece)) {
        let mut work = Work::on(text);
        let mut text = text;
        loop {
            if begins_object(text) {
                match self.extend(text, take) {
                    Some(rest) => text = rest,
                    None => return,
                }
            } else if let Some(message) = work.message_in(text) {
                take(Piece::InLog(text[message.clone()].to_vec()));
                text = trimmed(&text[message.end..]);
            } else {
                return;
            }
        }
    }

    /// Adds text to the unfinished piece. Returns the text after its end, if it ends.
    fn extend<'t>(&mut self, text: &'t [u8], take: &mut impl FnMut(Piece)) -> Option<&'t [u8]> {
        match self.shape.follow(text) {
            Extent::Open => {
                self.begun.extend_from_slice(text);
                None
            }
            Extent::Broken => {
                self.begun.extend_from_slice(text);
                self.shape = Shape::default();
                let broken = mem::take(&mut self.begun);
                recover(&broken, take);
                take(Piece::Broken(broken));
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

/// Emits the messages that follow the beginning of another message, on its line or on later lines. An object that ends
/// before the text becomes invalid is not emitted. It belongs to the unfinished message, because a tool may return JSON
/// that looks like a message.
pub(super) fn recover(text: &[u8], take: &mut impl FnMut(Piece)) {
    let text = &*mend_json(text);
    let Err(error) = serde_json::from_slice::<IgnoredAny>(text) else { return };
    let lines = || text.split(|byte| *byte == b'\n');
    let fault = lines().take(error.line().saturating_sub(1)).map(|line| line.len() + 1).sum::<usize>() + error.column();
    let mut work = Work::on(text);
    let mut begins = 0;
    for line in lines() {
        let mut at = 0;
        while let Some(message) = work.message_in(&line[at..]) {
            let message = at + message.start..at + message.end;
            at = message.end;
            if begins + message.end > fault {
                take(Piece::InLog(line[message].to_vec()));
            }
        }
        begins += line.len() + 1;
    }
}

/// Returns true if a text is a whole message, and not a part of one.
pub(super) fn is_message(text: &[u8]) -> bool {
    sole_object(trimmed(text)).is_some_and(|object| has_version(&object))
}

/// Returns true if a line ends with a message, so that the reader need not wait for its line break. An answer alone on
/// its line may lack the version.
pub(super) fn ends_with_message(line: &[u8]) -> bool {
    let line = trimmed(line);
    sole_object(line).is_some_and(|object| has_version(&object) || is_answer(&object))
        || Work::on(line).message_in(line).is_some_and(|message| message.end == line.len())
}

/// Returns the object that a text consists of, except for a trailing comma.
fn sole_object(text: &[u8]) -> Option<Map> {
    let text = text.strip_suffix(b",").unwrap_or(text);
    let is_sole = begins_json(text) && Shape::default().follow(text) == Extent::Ends(text.len());
    if is_sole { object(text) } else { None }
}

fn has_version(object: &Map) -> bool {
    object.contains_key("jsonrpc")
}

fn is_answer(object: &Map) -> bool {
    object.contains_key("id") && (object.contains_key("result") || object.contains_key("error"))
}

/// The maximum number of bytes of a line that are searched for a message.
const LOOKED_AT: usize = 4 << 10;

/// Returns true if an unfinished line is the beginning of a message.
pub(super) fn begins_message(line: &[u8]) -> bool {
    const MARK: &[u8] = b"\"jsonrpc\"";
    let line = trimmed(line);
    begins_object(line) || line[..line.len().min(LOOKED_AT)].windows(MARK.len()).any(|window| window == MARK)
}

fn begins_object(text: &[u8]) -> bool {
    begins_json(text) || begins_printed(text)
}

/// Returns true if text begins like an object or like a list of objects. A line of a log may also begin with a bracket:
/// `[info] ready`.
fn begins_json(text: &[u8]) -> bool {
    let Some((first, rest)) = text.split_first() else { return false };
    let second = rest.trim_ascii_start().first();
    match first {
        b'{' => matches!(second, None | Some(b'"' | b'}')),
        b'[' => matches!(second, None | Some(b'{' | b']')),
        _ => false,
    }
}

/// Returns true if text begins like a message in the notation of another language. Other objects in that notation
/// belong to a log.
fn begins_printed(text: &[u8]) -> bool {
    let key = text.strip_prefix(b"{").and_then(scan::first_key);
    matches!(key, Some(b"jsonrpc" | b"id" | b"result" | b"error" | b"method"))
}

/// The budget for searching a line for messages: the number of bytes that may still be searched. A line may consist of
/// brackets, which would make the search quadratic.
struct Work {
    left: usize,
}

impl Work {
    /// The number of times that each byte of a long line is searched.
    const TIMES: usize = 16;
    /// The minimum budget, for short lines.
    const LEAST: usize = 256 << 10;

    fn on(line: &[u8]) -> Self {
        Self { left: line.len().saturating_mul(Self::TIMES).saturating_add(Self::LEAST) }
    }

    /// Returns the first message among the text of a log.
    fn message_in(&mut self, line: &[u8]) -> Option<Range<usize>> {
        let mut at = 0;
        while let Some(start) = next_object(line, at) {
            at = start + 1;
            let text = &line[start..];
            let Extent::Ends(length) = Shape::default().follow(text) else {
                self.left = self.left.checked_sub(text.len())?;
                continue;
            };
            self.left = self.left.checked_sub(length)?;
            match object(&text[..length]) {
                Some(object) if has_version(&object) => return Some(start..start + length),
                // The object is not a message. Skip it with everything in it.
                Some(_) => at = start + length,
                None => {}
            }
        }
        None
    }
}

/// Returns where the next object may begin.
fn next_object(line: &[u8], from: usize) -> Option<usize> {
    let may_begin = |place: &usize| line[*place] == b'{' && line[place + 1..].trim_ascii_start().first() == Some(&b'"');
    (from..line.len()).find(may_begin)
}

fn object(text: &[u8]) -> Option<Map> {
    serde_json::from_slice(&mend_json(text)).ok()
}

/// Returns text without white space at its ends, and without a byte order mark.
fn trimmed(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii();
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(lines: &[&str]) -> Vec<Piece> {
        let mut reader = Lines::default();
        let mut pieces = Vec::new();
        lines.iter().for_each(|line| reader.push(line.as_bytes(), &mut |piece| pieces.push(piece)));
        reader.give_up(&mut |piece| pieces.push(piece));
        pieces
    }

    fn check(lines: &[&str], expected: &[Piece]) {
        assert_eq!(pieces(lines), expected, "{lines:?}");
    }

    fn whole(text: &str) -> Piece {
        Piece::Whole(text.into())
    }

    fn broken(text: &str) -> Piece {
        Piece::Broken(text.into())
    }

    fn cut(text: &str) -> Piece {
        Piece::Cut(text.into())
    }

    fn in_log(text: &str) -> Piece {
        Piece::InLog(text.into())
    }

    #[test]
    fn a_line_is_a_message() {
        check(&[r#"{"a":1}"#, "", "  [{}]\r"], &[whole(r#"{"a":1}"#), whole("[{}]")]);
        check(&["\u{feff}{\"a\":1}\r"], &[whole(r#"{"a":1}"#)]);
    }

    #[test]
    fn log_lines_are_passed_over() {
        check(
            &["starting…", "[info] {x}", "{'a': 1}", "{ready}", "3", "null", "[12:00 x", "\"text\"", "{", "}"],
            &[whole("{\n}")],
        );
    }

    #[test]
    fn messages_are_joined_from_lines_and_cut_from_one() {
        check(&["{", r#"  "a": ["#, "1", "]", "}"], &[whole("{\n\"a\": [\n1\n]\n}")]);
        check(&[r#"{"a":1}{"b":2} {"c":"#, "3}"], &[whole(r#"{"a":1}"#), whole(r#"{"b":2}"#), whole("{\"c\":\n3}")]);
        check(&[r#"{"a":"x"#, r#"y"}"#], &[whole("{\"a\":\"x\ny\"}")]);
        check(&[r#"{"a":1} done"#], &[whole(r#"{"a":1}"#)]);
    }

    #[test]
    fn messages_that_other_languages_print_are_one_piece() {
        let python = r#"{'jsonrpc': '2.0', 'id': 1, 'result': {'text': "it's } {"}}"#;
        check(&[python], &[whole(python)]);
        check(
            &["{'id': 1,", " 'jsonrpc': '2.0',", " 'result': {}}"],
            &[whole("{'id': 1,\n'jsonrpc': '2.0',\n'result': {}}")],
        );
        check(&["{", "  jsonrpc: '2.0',", "  id: 1", "}"], &[whole("{\njsonrpc: '2.0',\nid: 1\n}")]);
        check(&["{id: 7} ok", "{level=info}", "{'msg': 'id: 7'}"], &[whole("{id: 7}")]);
    }

    #[test]
    fn what_gets_no_end_is_given_up_when_a_message_follows() {
        let next = r#"{"jsonrpc":"2.0","id":1}"#;
        check(&[r#"{"broken"#, "\u{1}", "{}", next], &[cut("{\"broken\n\u{1}\n{}"), whole(next)]);
        check(&[r#"{"a":[}"#, next], &[broken(r#"{"a":[}"#), whole(next)]);
        check(&["[", &format!("{next},"), next, "]"], &[cut("["), whole(next), whole(next)]);
        check(&["{", r#""a":{"jsonrpc":1}"#, "}"], &[whole("{\n\"a\":{\"jsonrpc\":1}\n}")]);
    }

    #[test]
    fn messages_after_the_beginning_of_another_one_are_recovered() {
        let next = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
        let joined = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":"x{next}"#);
        check(&[&joined], &[in_log(next), cut(&joined)]);
        let line = format!("INFO {next}");
        check(&[r#"{"broken"#, &line, "INFO tick"], &[in_log(next), cut(&format!("{{\"broken\n{line}\nINFO tick"))]);
    }

    #[test]
    fn a_line_that_ends_with_a_message_is_known() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"id":1,"result":{}} "#,
            r#"Loading... {"id":1,"result":{},"jsonrpc":"2.0"}"#,
        ] {
            assert!(ends_with_message(line.as_bytes()), "{line}");
        }
        for line in ["", "Loading...", r#"{"level":1}"#, r#"{"id":1,"result":{}"#, r#"{"id":1,"result":{}} and"#] {
            assert!(!ends_with_message(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn a_line_may_have_any_number_of_objects() {
        let mut count = 0;
        Lines::default().push("{}".repeat(100_000).as_bytes(), &mut |_| count += 1);
        assert_eq!(count, 100_000);
    }

    #[test]
    fn a_message_among_the_text_of_a_log_is_found() {
        let message = r#"{"jsonrpc":"2.0","id":1,"result":{"a":{}}}"#;
        check(&[&format!("Loading... {message} ok")], &[in_log(message)]);
        check(&[r#"sends {"jsonrpc":"2.0","id":1,"result":{…"#], &[]);
        for message in [
            r#"{"id":1,"jsonrpc":"2.0","result":{}}"#,
            r#"{"result":{"a":[{"b":1}]},"id":1,"jsonrpc":"2.0"}"#,
            r#"{ "id" : 1, "jsonrpc" : "2.0", "result" : {} }"#,
            r#"{"error":{"code":1,"message":"}{"},"id":null,"jsonrpc":"2.0"}"#,
        ] {
            for before in ["INFO ready ", "{cfg} ", "it's \" ", "a {\"b ", "> {} {{ {\"level\":1} ", "{'a': 1} x"] {
                for after in ["", " ok", " {x}", "}"] {
                    check(&[&format!("{before}{message}{after}")], &[in_log(message)]);
                }
            }
            let several = format!("a {message} b {message}{message} c {message}");
            check(&[&several], &[in_log(message), in_log(message), whole(message), in_log(message)]);
        }
    }

    #[test]
    fn a_message_inside_of_an_answer_that_cannot_be_read_is_its_member() {
        let inner = r#"{"jsonrpc":"2.0","id":6,"result":{}}"#;
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for outer in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"doc":{inner},"deep":{deep}}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"deep":{deep},"doc":{inner}}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"doc":{inner}}},}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"doc":{inner}"#),
        ] {
            recover(outer.as_bytes(), &mut |piece| panic!("{piece:?}"));
        }
    }

    #[test]
    fn an_object_of_a_log_is_no_message() {
        check(&[r#"INFO db: done {"id":2,"result":{"rows":3}}"#, r#"ERROR job {"id":null,"error":"boom"}"#], &[]);
    }

    // A log line about a message is not a message.
    #[test]
    fn a_message_inside_of_an_object_of_a_log_is_a_part_of_it() {
        check(&[r#"sent {"size":3,"message":{"jsonrpc":"2.0","id":1,"result":{}}}"#], &[]);
        check(&[r#"sent "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}""#], &[]);
    }

    #[test]
    fn brackets_without_end_cost_no_more_than_the_line_is_long() {
        for pattern in ["{", "{\"", "{\"a\":", "{\"a\":{\"b\":[", "x{\"a\":1} ", "{\"id\":1,\"error\":x} ", "{'id': "] {
            let line = format!("x {}", pattern.repeat((1 << 20) / pattern.len()));
            check(&[&line], &[]);
        }
    }

    #[test]
    fn a_beginning_of_json_is_known_by_its_grammar() {
        let so_far = |lines: &[&str], line: &str| {
            let mut reader = Lines::default();
            lines.iter().for_each(|line| reader.push(line.as_bytes(), &mut |_| ()));
            reader.is_json_so_far(line.as_bytes())
        };
        assert!(so_far(&["{", "\"a\": ["], ""));
        assert!(so_far(&["{", "\"a\": [", "1,"], "\"x"));
        assert!(!so_far(&["{", "INFO tick"], ""));
        assert!(!so_far(&["{\"a\": {", "{\"level\": 1}"], ""));
        assert!(!so_far(&["{\"a\": \"x", "INFO tick"], ""));
        assert!(!so_far(&["{\"a\": \"x"], "INFO"));
    }
}
