//! Joins characters whose two halves come in two events.
//!
//! JSON writes a character beyond U+FFFF as two escapes, `\ud83d\ude00`. Some servers cut texts between them. Rust's
//! strings cannot hold half a character, so a half at the end or the beginning of a text is marked before the event is
//! parsed, and joined afterwards. Halves in the middle of a text are left to `big_integers_as_strings`.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use pleach_core::big_integers_as_strings;
use serde_json::Value;

use crate::wire::index;

/// The first of the characters that represent halves, at the end of the private use area. `FIRST_MARK + n` is U+D800 +
/// n.
const FIRST_MARK: u32 = 0x10_f800;

/// The maximum number of events that wait while the first of them lacks the second half of a character.
const LONGEST_WAIT: usize = 16;

/// The maximum number of texts in an event that wait for the second half of a character.
const MOST_OPEN: usize = 64;

const HIGH: Range<u16> = 0xd800..0xdc00;
const LOW: Range<u16> = 0xdc00..0xe000;

/// Replaces the escape of half a character at the end or the beginning of a text by a mark.
///
/// `json` is returned unchanged if it has no such escape, or if a text begins or ends with a character that looks like
/// a mark.
pub(super) fn mark(json: &str) -> Cow<'_, str> {
    if !(json.contains("\\ud") || json.contains("\\uD")) {
        return Cow::Borrowed(json);
    }
    let mut marked = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(quote) = json[at..].find('"') {
        let begin = at + quote + 1;
        let text = Scanned::read(&json[begin..]);
        at = begin + text.length + 1;
        if text.looks_marked {
            return Cow::Borrowed(json);
        }
        let is_key = json.get(at..).is_some_and(|rest| rest.trim_start().starts_with(':'));
        for (place, unit) in [text.low_at_begin, text.high_at_end].into_iter().flatten().filter(|_| !is_key) {
            marked.push_str(&json[copied..begin + place]);
            marked.extend(char::from_u32(FIRST_MARK + u32::from(unit - HIGH.start)));
            copied = begin + place + 6;
        }
        if at >= json.len() {
            break;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    marked.push_str(&json[copied..]);
    Cow::Owned(marked)
}

/// Reads a JSON document that is an answer, or a list of the events of one. Halves are joined, even across two entries.
///
/// # Errors
/// The text is not JSON.
pub(super) fn read_document(text: &[u8]) -> serde_json::Result<Value> {
    let text = String::from_utf8_lossy(text);
    let marked = mark(text.strip_prefix('\u{feff}').unwrap_or(&text));
    let document = serde_json::from_slice(&big_integers_as_strings(marked.as_bytes()))?;
    if matches!(marked, Cow::Borrowed(_)) {
        return Ok(document);
    }
    let mut halves = Halves::default();
    let mut joined = |events: Vec<Value>| {
        let mut read = Vec::with_capacity(events.len());
        for event in events {
            halves.push(event, true);
            read.extend(std::iter::from_fn(|| halves.pop()));
        }
        halves.close();
        read.extend(std::iter::from_fn(|| halves.pop()));
        read
    };
    Ok(match document {
        Value::Array(events) => joined(events).into(),
        document => joined(vec![document]).pop().unwrap_or_default(),
    })
}

/// A part of the text of a JSON string.
#[derive(Default)]
struct Scanned {
    /// The part up to the closing quote.
    length: usize,
    low_at_begin: Option<(usize, u16)>,
    high_at_end: Option<(usize, u16)>,
    /// Whether its first or last character looks like a mark.
    looks_marked: bool,
}

impl Scanned {
    fn read(json: &str) -> Self {
        let mut scanned = Self::default();
        let bytes = json.as_bytes();
        let mut at = 0;
        while at < bytes.len() && bytes[at] != b'"' {
            if bytes[at] != b'\\' {
                at += 1;
                continue;
            }
            at += match (unit(json, at), unit(json, at + 6)) {
                (Some(high), Some(low)) if HIGH.contains(&high) && LOW.contains(&low) => {
                    let is_at_edge = at == 0 || bytes.get(at + 12) == Some(&b'"');
                    scanned.looks_marked |= is_at_edge && high >= 0xdbfe;
                    12
                }
                (Some(high), _) if HIGH.contains(&high) => {
                    scanned.high_at_end = (bytes.get(at + 6) == Some(&b'"')).then_some((at, high));
                    6
                }
                (Some(low), _) if LOW.contains(&low) && at == 0 => {
                    scanned.low_at_begin = Some((at, low));
                    6
                }
                _ => 2,
            };
        }
        scanned.length = at.min(bytes.len());
        let text = json.get(..scanned.length).unwrap_or_default();
        let edges = [text.chars().next(), text.chars().next_back()];
        scanned.looks_marked |= edges.into_iter().flatten().any(|edge| half(edge).is_some());
        scanned
    }
}

/// Returns the code unit of the escape at a place in the text.
fn unit(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..)?.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

/// Joins the marked halves of events. A half without the other one becomes U+FFFD.
///
/// An event whose text ends in half a character waits for the next text at the same place. The events after it wait as
/// well.
#[derive(Default)]
pub(super) struct Halves(VecDeque<Held>);

struct Held {
    event: Value,
    /// The texts that end in half a character.
    open: Vec<Open>,
}

struct Open {
    pointer: String,
    key: Key,
    high: u16,
}

/// A text of an event that begins or ends with a half, or that continues such a text.
struct Text {
    pointer: String,
    key: Key,
    low: Option<u16>,
    high: Option<u16>,
}

/// Identifies the place of a text in events; a text and its continuations have the same key. The key includes the
/// values of members called `index`, but not positions in lists. A missing `index` is 0.
type Key = u64;

impl Halves {
    /// Takes an event. `is_marked` is true if it may have marks.
    pub(super) fn push(&mut self, event: Value, is_marked: bool) {
        let open: HashSet<Key> = self.0.iter().flat_map(|held| &held.open).map(|open| open.key).collect();
        let mut texts = Vec::new();
        if is_marked || !open.is_empty() {
            let mut walk = Walk { is_marked, open, steps: Vec::new(), texts: Vec::new() };
            walk.value(&event, 0);
            texts = walk.texts;
        }
        self.0.push_back(Held { event, open: Vec::new() });
        for text in texts {
            self.take_text(text);
        }
        if self.0.len() > LONGEST_WAIT
            && let Some(first) = self.0.front_mut()
        {
            first.close();
        }
    }

    /// Returns the next event that need not wait.
    pub(super) fn pop(&mut self) -> Option<Value> {
        self.0.front().filter(|held| held.open.is_empty())?;
        self.0.pop_front().map(|held| held.event)
    }

    /// Ends all waiting, because nothing follows.
    pub(super) fn close(&mut self) {
        self.0.iter_mut().for_each(Held::close);
    }

    /// Joins a text of the last event to the text that it continues.
    fn take_text(&mut self, text: Text) {
        let Text { pointer, key, low, high } = text;
        let waiting = self.0.iter_mut().find_map(|held| {
            let place = held.open.iter().position(|open| open.key == key)?;
            let open = held.open.remove(place);
            held.set_last(&open, low);
            Some(())
        });
        let Some(last) = self.0.back_mut() else { return };
        if low.is_some()
            && let Some(Value::String(own)) = last.event.pointer_mut(&pointer)
        {
            own.replace_range(..4, if waiting.is_some() { "" } else { "\u{fffd}" });
        }
        let Some(high) = high else { return };
        let open = Open { pointer, key, high };
        if last.open.len() < MOST_OPEN { last.open.push(open) } else { last.set_last(&open, None) }
    }
}

impl Held {
    /// Completes the character at the end of a text.
    fn set_last(&mut self, open: &Open, low: Option<u16>) {
        if let Some(Value::String(text)) = self.event.pointer_mut(&open.pointer) {
            text.pop();
            let units = [Some(open.high), low].into_iter().flatten();
            text.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
        }
    }

    fn close(&mut self) {
        for open in std::mem::take(&mut self.open) {
            self.set_last(&open, None);
        }
    }
}

/// Finds the texts of an event that must be joined.
struct Walk<'a> {
    is_marked: bool,
    /// The places of texts that end in half a character.
    open: HashSet<Key>,
    /// The path to the value.
    steps: Vec<Step<'a>>,
    texts: Vec<Text>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Item(usize),
    Member(&'a str),
}

impl<'a> Walk<'a> {
    fn value(&mut self, value: &'a Value, key: Key) {
        match value {
            Value::String(text) => self.text(text, key),
            Value::Array(items) => {
                let key = key_below(key, "*", 0);
                for (number, item) in items.iter().enumerate() {
                    self.below(Step::Item(number), item, key);
                }
            }
            Value::Object(members) => {
                let number = index(members.get("index")).unwrap_or(0);
                for (name, member) in members {
                    self.below(Step::Member(name), member, key_below(key, name, number));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn below(&mut self, step: Step<'a>, value: &'a Value, key: Key) {
        self.steps.push(step);
        self.value(value, key);
        self.steps.pop();
    }

    fn text(&mut self, text: &str, key: Key) {
        let half = |end: Option<char>| end.filter(|_| self.is_marked).and_then(half);
        let low = half(text.chars().next()).filter(|half| LOW.contains(half));
        let high = half(text.chars().next_back()).filter(|half| HIGH.contains(half));
        let continues = !text.is_empty() && self.open.contains(&key);
        if low.is_none() && high.is_none() && !continues {
            return;
        }
        if high.is_some() {
            self.open.insert(key);
        }
        self.texts.push(Text { pointer: self.pointer(), key, low, high });
    }

    fn pointer(&self) -> String {
        let step = |step: &Step<'_>| match step {
            Step::Item(number) => format!("/{number}"),
            Step::Member(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        };
        self.steps.iter().map(step).collect()
    }
}

/// Returns the key of a member `name`, from the key of the value that contains it.
fn key_below(key: Key, name: &str, number: u64) -> Key {
    let mut hasher = DefaultHasher::new();
    (key, name, number).hash(&mut hasher);
    hasher.finish()
}

/// Returns the half that a mark represents.
fn half(mark: char) -> Option<u16> {
    let unit = u16::try_from(u32::from(mark).checked_sub(FIRST_MARK)?).ok()?;
    Some(HIGH.start + unit)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads events as from the wire. Halves are written `\u`.
    fn read(events: &[String]) -> Vec<Value> {
        let mut halves = Halves::default();
        let mut read = Vec::new();
        for event in events {
            let marked = mark(event);
            let is_marked = matches!(marked, Cow::Owned(_));
            halves.push(serde_json::from_slice(&big_integers_as_strings(marked.as_bytes())).unwrap(), is_marked);
            read.extend(std::iter::from_fn(|| halves.pop()));
        }
        halves.close();
        read.extend(std::iter::from_fn(|| halves.pop()));
        assert_eq!(read.len(), events.len());
        read
    }

    /// Returns a JSON string of these code units.
    fn escaped(units: &[u16]) -> String {
        let units = units.iter().map(|unit| match u8::try_from(*unit) {
            Ok(ascii) => char::from(ascii).to_string(),
            Err(_) => format!("\\u{unit:04x}"),
        });
        format!("\"{}\"", units.collect::<String>())
    }

    fn joined(units: &[u16], cuts: &[usize]) -> String {
        let mut events = Vec::new();
        let mut begin = 0;
        for cut in cuts.iter().chain([&units.len()]) {
            events.push(format!(
                r#"{{"choices":[{{"index":0,"delta":{{"content":{}}}}}]}}"#,
                escaped(&units[begin..*cut])
            ));
            // Values between two pieces of one text change nothing.
            events.push(r#"{"type":"ping"}"#.to_owned());
            begin = *cut;
        }
        read(&events).iter().filter_map(|event| event.pointer("/choices/0/delta/content")?.as_str()).collect()
    }

    #[test]
    fn a_text_that_is_cut_at_any_unit_comes_out_as_itself() {
        for text in ["a😀b😀😀c", "😀", "😀\u{10f7ff}\u{10000}"] {
            let units: Vec<u16> = text.encode_utf16().collect();
            for first in 0..=units.len() {
                for second in first..=units.len() {
                    assert_eq!(joined(&units, &[first, second]), text, "{first} {second}");
                }
            }
        }
    }

    #[test]
    fn halves_without_the_other_half_are_replaced() {
        let (high, low, a) = (0xd83d, 0xde00, u16::from(b'a'));
        for (units, expected) in [
            (vec![high], "\u{fffd}"),
            (vec![low], "\u{fffd}"),
            (vec![a, high, a], "a\u{fffd}a"),
            (vec![low, high], "\u{fffd}\u{fffd}"),
            (vec![high, high, low], "\u{fffd}😀"),
            (vec![high, low, low], "😀\u{fffd}"),
        ] {
            for cut in 0..=units.len() {
                assert_eq!(joined(&units, &[cut]), expected, "{units:x?} {cut}");
            }
        }
    }

    #[test]
    fn texts_of_other_places_are_passed_over() {
        let piece = |index: u64, text: &str| {
            format!(r#"{{"type":"content_block_delta","delta":{{"partial_json":"{text}"}},"index":{index}}}"#)
        };
        let events = [
            piece(0, r"a\uD83D"),
            piece(1, r"b\ud83d"),
            piece(0, r"\uDE00a"),
            piece(2, r"c\ud83d"),
            piece(1, "c"),
            piece(2, r"\ude01"),
        ];
        let texts: Vec<Value> =
            read(&events).into_iter().map(|mut event| event["delta"]["partial_json"].take()).collect();
        assert_eq!(texts, [json!("a😀"), json!("b\u{fffd}"), json!("a"), json!("c😁"), json!("c"), json!("")]);
    }

    #[test]
    fn characters_that_look_like_a_mark_are_kept() {
        let event = |text: &str| format!(r#"{{"a": "{text}", "b": "\ud83d"}}"#);
        for text in ["\u{10f83d}", "\u{10fe00}", r"\udbfe\udc3d", r"\udbff\udfff", "a\u{10f83d}a"] {
            let expected: Value = serde_json::from_str(&format!("\"{text}\"")).unwrap();
            let events = read(&[event("x"), event(text), event(text)]);
            assert_eq!((&events[1]["a"], &events[2]["a"]), (&expected, &expected), "{text}");
        }
    }

    #[test]
    fn halves_of_one_event_are_joined_too() {
        let event = r#"{"parts":[{"text":"a\ud83d"},{"text":"\ude00b"}]}"#.to_owned();
        assert_eq!(read(&[event]), [json!({"parts": [{"text": "a😀"}, {"text": "b"}]})]);
    }

    #[test]
    fn a_missing_index_is_that_of_the_first() {
        let piece = |index: Option<Value>, text: &str| {
            let index = index.map(|index| format!(r#""index":{index},"#)).unwrap_or_default();
            format!(r#"{{"choices":[{{{index}"delta":{{"content":"{text}"}}}}]}}"#)
        };
        let numbers = [None, Some(json!(0)), Some(json!("0")), Some(json!(null))];
        for (first, second) in numbers.iter().flat_map(|first| numbers.iter().map(move |second| (first, second))) {
            let events = read(&[piece(first.clone(), r"a\ud83d"), piece(second.clone(), r"\ude00b")]);
            let texts: String =
                events.iter().filter_map(|event| event.pointer("/choices/0/delta/content")?.as_str()).collect();
            assert_eq!(texts, "a😀b", "{first:?} {second:?}");
        }
        let events = read(&[piece(None, r"a\ud83d"), piece(Some(json!("1")), r"\ude00b")]);
        assert_eq!(events[0]["choices"][0]["delta"]["content"], "a\u{fffd}");
    }

    #[test]
    fn halves_in_two_entries_of_a_document_are_joined() {
        let texts = |text: &str| {
            let document = read_document(text.as_bytes()).unwrap();
            document.as_array().unwrap().iter().map(|entry| entry["text"].as_str().unwrap()).collect::<String>()
        };
        assert_eq!(texts(r#"[{"text":"a\ud83d"},{"text":"\ude00b"}]"#), "a😀b");
        assert_eq!(texts(r#"[{"text":"a\ud83d"},{"text":"b\ud83d"}]"#), "a\u{fffd}b\u{fffd}");
        assert_eq!(read_document(br#"{"text":"a\ud83d"}"#).unwrap(), json!({"text": "a\u{fffd}"}));
        assert_eq!(read_document(br#"{"text":1,"n":123456789012345678901}"#).unwrap()["n"], "123456789012345678901");
    }

    #[test]
    fn no_more_events_wait_than_are_needed() {
        let mut halves = Halves::default();
        halves.push(json!({"a": char::from_u32(FIRST_MARK + 0x3d)}), true);
        for number in 1..LONGEST_WAIT {
            halves.push(json!({"b": number}), false);
            assert_eq!(halves.pop(), None);
        }
        halves.push(json!({}), false);
        assert_eq!(halves.pop(), Some(json!({"a": "\u{fffd}"})));
        assert_eq!(std::iter::from_fn(|| halves.pop()).count(), LONGEST_WAIT);
    }

    #[test]
    fn keys_escaped_backslashes_and_whole_characters_are_not_marked() {
        for json in [
            r#"{"\ud83d": 1}"#,
            r#"{"\ude00" : 1}"#,
            r#"{"a": "\\ud83d"}"#,
            r#"{"a": "\ud83d\ude00"}"#,
            r#"{"a": "x\ud83dx"}"#,
            r#"{"a": "\ud83"#,
            r#"{"a": "\ud83d"#,
            r#"{"a": "ü\"\ud83d"#,
        ] {
            assert!(matches!(mark(json), Cow::Borrowed(_)), "{json}");
        }
    }
}
