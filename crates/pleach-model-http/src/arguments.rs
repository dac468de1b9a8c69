//! The arguments of a call: an object, or the text of one, whole or in pieces.
// L234

use pleach_core::{Map, big_integers_as_strings};
use serde_json::Value;

/// The growing text of a call's arguments, and the place in its JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArgumentText {
    text: String,
    /// Whether the text has more than blanks.
    has_text: bool,
    /// Whether there is more than blanks after the object.
    has_tail: bool,
    scan: Scan,
    /// A whole object that came before the text. The text must repeat it.
    earlier: Option<String>,
    /// Whether the text has one object after another.
    is_joined: bool,
}

/// The longest text, with blanks, that means "no arguments" without being an object.
const LONGEST_NOTHING: usize = 32;

/// The reason why arguments cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentFault {
    /// The arguments are not an object.
    NoObject,
    /// The arguments are several objects.
    Joined,
}

impl ArgumentText {
    /// Adds a piece of the text. If an object follows an empty object, it replaces the empty one, wherever the text is
    /// cut.
    pub(crate) fn push(&mut self, piece: &str) {
        let mut begin = 0;
        for (at, byte) in piece.bytes().enumerate() {
            if byte == b'{' && self.is_whole_with(&piece[begin..at]) {
                self.append(&piece[begin..at]);
                begin = at;
                self.begin_another();
            }
            self.has_tail |= self.scan == Scan::After && !byte.is_ascii_whitespace();
            self.scan = self.scan.after(byte);
        }
        self.append(&piece[begin..]);
    }

    /// Begins to read another object after a whole one.
    fn begin_another(&mut self) {
        let before = std::mem::take(self);
        self.is_joined = before.is_joined;
        if is_nothing(&before.text) {
            self.earlier = before.earlier;
        } else {
            self.is_joined |= before.earlier.as_deref().is_some_and(|earlier| !is_same(earlier, &before.text));
            self.earlier = Some(before.text);
        }
    }

    fn append(&mut self, piece: &str) {
        let piece = if self.text.is_empty() { piece.trim_start() } else { piece };
        self.has_text |= !piece.trim().is_empty();
        self.text.push_str(piece);
    }

    /// Returns true if the text becomes a whole object with this piece. The piece is scanned, but not added.
    fn is_whole_with(&self, piece: &str) -> bool {
        match self.scan {
            Scan::After => true,
            Scan::Before if self.text.len() + piece.len() <= LONGEST_NOTHING => {
                ["null", "[]"].contains(&[&self.text, piece].concat().trim())
            }
            Scan::Before => false,
            Scan::Inside { .. } | Scan::Quoted { .. } => false,
        }
    }

    /// Returns true if the text is a whole object, so that another object begins another call.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole_with("")
    }

    /// Returns true if there is no text yet.
    pub(crate) fn is_blank(&self) -> bool {
        !self.has_text
    }

    /// Reads the arguments.
    pub(crate) fn read(&self) -> Result<Map, ArgumentFault> {
        if self.is_joined {
            return Err(ArgumentFault::Joined);
        }
        let text = match &self.earlier {
            // Some servers end a call with an empty object.
            Some(earlier) if is_nothing(&self.text) => earlier,
            Some(earlier) if !is_same(earlier, &self.text) => return Err(ArgumentFault::Joined),
            _ => &self.text,
        };
        read(text).ok_or(ArgumentFault::NoObject)
    }
}

/// The functions that only the pieces of chat completions need.
#[cfg(feature = "openai")]
impl ArgumentText {
    /// Takes arguments that came as JSON instead of text. They replace a text that is not whole.
    pub(crate) fn push_json(&mut self, arguments: &Value) {
        if !self.is_whole() {
            *self = Self::default();
        }
        self.push(&arguments.to_string());
    }

    /// Returns true if the text is a whole object, not another value or a piece.
    pub(crate) fn is_object(&self) -> bool {
        self.scan == Scan::After && !self.has_tail && self.text.starts_with('{') && self.read().is_ok()
    }

    /// Returns true if there are no arguments: no text, or an empty object.
    pub(crate) fn is_nothing(&self) -> bool {
        self.earlier.is_none() && is_nothing(&self.text)
    }
}

/// Reads arguments that should be an object. Some servers send an object as text.
pub(crate) fn of_value(arguments: Option<&Value>) -> Result<Map, ArgumentFault> {
    match arguments {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(arguments)) => Ok(arguments.clone()),
        // PHP writes an empty object as a list.
        Some(Value::Array(items)) if items.is_empty() => Ok(Map::new()),
        Some(Value::String(text)) => {
            let mut arguments = ArgumentText::default();
            arguments.push(text);
            arguments.read()
        }
        Some(_) => Err(ArgumentFault::NoObject),
    }
}

/// The unreadable calls of an answer.
#[derive(Debug, Default)]
pub(crate) struct CallFaults {
    no_object: Vec<String>,
    joined: Vec<String>,
    /// The ids of calls without a name, if they have one.
    nameless: Option<Vec<String>>,
}

impl CallFaults {
    /// Notes a call whose arguments cannot be read.
    pub(crate) fn add(&mut self, name: String, fault: ArgumentFault) {
        if name.is_empty() {
            return self.add_nameless("");
        }
        match fault {
            ArgumentFault::NoObject => note(&mut self.no_object, name),
            ArgumentFault::Joined => note(&mut self.joined, name),
        }
    }

    /// Notes a call that names no function.
    pub(crate) fn add_nameless(&mut self, id: &str) {
        let ids = self.nameless.get_or_insert_default();
        if !id.is_empty() {
            note(ids, format!("`{id}`"));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.no_object.is_empty() && self.joined.is_empty() && self.nameless.is_none()
    }

    /// Returns a message about the faults; `None` if there are none.
    pub(crate) fn into_text(self) -> Option<String> {
        let mut texts = Vec::new();
        if !self.no_object.is_empty() {
            texts.push(format!("the arguments of these calls are no JSON object: {}", self.no_object.join(", ")));
        }
        if !self.joined.is_empty() {
            texts.push(format!("the arguments of these calls are several JSON objects: {}", self.joined.join(", ")));
        }
        match self.nameless {
            Some(ids) if ids.is_empty() => texts.push("a call has no name".to_owned()),
            Some(ids) => texts.push(format!("a call has no name: {}", ids.join(", "))),
            None => {}
        }
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}

/// Adds a name to the list, unless the list already has the name or is long enough.
fn note(names: &mut Vec<String>, name: String) {
    if names.len() < MOST_SHOWN && !names.contains(&name) {
        names.push(name);
    }
}

/// The maximum number of call names that are shown.
const MOST_SHOWN: usize = 10;

/// The position in the JSON that a text has reached. The scan only finds the end of the first object; it does not check
/// the JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Scan {
    /// Before the object, in blanks or a Markdown fence.
    #[default]
    Before,
    /// In the object, at this depth of brackets.
    Inside { depth: usize, string: InString },
    /// In a string that contains the object.
    Quoted { is_escape: bool },
    /// After the object.
    After,
}

/// Whether the next byte is in a string.
#[derive(Clone, Copy, Debug, PartialEq)]
enum InString {
    No,
    Yes,
    /// After a backslash.
    Escape,
}

impl Scan {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Before, b'{') => Self::Inside { depth: 1, string: InString::No },
            (Self::Before, b'"') => Self::Quoted { is_escape: false },
            (Self::Quoted { is_escape: true }, _) => Self::Quoted { is_escape: false },
            (Self::Quoted { .. }, b'\\') => Self::Quoted { is_escape: true },
            (Self::Quoted { .. }, b'"') => Self::After,
            (Self::Inside { depth, string }, byte) => Self::inside(depth, string, byte),
            _ => self,
        }
    }

    fn inside(depth: usize, string: InString, byte: u8) -> Self {
        let (depth, string) = match (string, byte) {
            (InString::No, b'{' | b'[') => (depth + 1, string),
            (InString::No, b'}' | b']') if depth == 1 => return Self::After,
            (InString::No, b'}' | b']') => (depth - 1, string),
            (InString::No, b'"') => (depth, InString::Yes),
            (InString::Yes, b'"') | (InString::Escape, _) => {
                (depth, if string == InString::Escape { InString::Yes } else { InString::No })
            }
            (InString::Yes, b'\\') => (depth, InString::Escape),
            _ => (depth, string),
        };
        Self::Inside { depth, string }
    }
}

/// Returns true if a text has no arguments.
fn is_nothing(text: &str) -> bool {
    read(text).is_some_and(|arguments| arguments.is_empty())
}

fn is_same(one: &str, other: &str) -> bool {
    read(one).is_some_and(|one| read(other).as_ref() == Some(&one))
}

/// Reads arguments. Returns `None` if they are not an object.
///
/// An empty text means no arguments. A Markdown fence around the object is removed, and an object inside a JSON string
/// is taken out. Faults that models make in JSON are repaired: raw newlines, lone surrogates, integers of more than 64
/// bits.
fn read(text: &str) -> Option<Map> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Map::new());
    }
    match json(unfenced(text))? {
        Value::Object(arguments) => Some(arguments),
        Value::String(inner) if inner.trim().is_empty() => Some(Map::new()),
        Value::String(inner) => match json(inner.trim())? {
            Value::Object(arguments) => Some(arguments),
            _ => None,
        },
        Value::Null => Some(Map::new()),
        // PHP writes an empty object as a list.
        Value::Array(items) if items.is_empty() => Some(Map::new()),
        _ => None,
    }
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_slice(&big_integers_as_strings(text.as_bytes())).ok()
}

fn unfenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) else { return text };
    inner.strip_prefix("json").unwrap_or(inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn l234_arguments_are_an_object() {
        for (text, expected) in [
            ("", Some(json!({}))),
            (" {} ", Some(json!({}))),
            ("null", Some(json!({}))),
            ("[]", Some(json!({}))),
            ("\"\"", Some(json!({}))),
            ("true", None),
            ("3", None),
            (r#"{"a": {"b": [1]}}"#, Some(json!({"a": {"b": [1]}}))),
            ("```json\n{\"a\": 1}\n```", Some(json!({"a": 1}))),
            (r#""{\"a\": 1}""#, Some(json!({"a": 1}))),
            ("{\"a\": \"one\ntwo\tthree\"}", Some(json!({"a": "one\ntwo\tthree"}))),
            (r#"{"a": "\ud83d \u0000"}"#, Some(json!({"a": "\u{fffd} \u{fffd}"}))),
            (r#"{"a": 1234567890123456789012345, "b": -1}"#, Some(json!({"a": "1234567890123456789012345", "b": -1}))),
            (r#""{\"a\": 1234567890123456789012345}""#, Some(json!({"a": "1234567890123456789012345"}))),
            (r#"{"a": NaN}"#, Some(json!({"a": null}))),
            ("[1]", None),
            ("{\"a\": ", None),
            ("{\"a\": 1} trailing", None),
        ] {
            assert_eq!(read(text).map(Value::Object), expected, "{text}");
        }
    }

    fn pushed(pieces: &[&str]) -> Result<Value, ArgumentFault> {
        let mut text = ArgumentText::default();
        pieces.iter().for_each(|piece| text.push(piece));
        text.read().map(Value::Object)
    }

    /// Checks the text in these pieces, and also cut into two pieces at every position.
    fn check(pieces: &[&str], expected: Result<Value, ArgumentFault>) {
        assert_eq!(pushed(pieces), expected, "{pieces:?}");
        let text = pieces.concat();
        for at in 0..=text.len() {
            assert_eq!(pushed(&[&text[..at], &text[at..]]), expected, "{text} {at}");
        }
    }

    #[test]
    fn an_object_after_an_empty_one_takes_its_place() {
        for pieces in [
            &["{}", "{\"a\": 1}"][..],
            &["{", "}", "{\"a\"", ": 1}"],
            &["null", "{\"a\": 1}"],
            &["{\"a\": 1}", "{}"],
            &["{}\n{} {\"a\": 1}{}"],
        ] {
            check(pieces, Ok(json!({"a": 1})));
        }
    }

    #[test]
    fn an_object_that_is_repeated_counts_once_and_two_objects_are_a_fault() {
        check(&["{\"a\": 1}", "{\"a\":", "1}"], Ok(json!({"a": 1})));
        for pieces in [
            &["{\"a\": 1}{\"a\": 2}"][..],
            &["{\"a\": 1}", "{\"a\": 2}"],
            &["{\"a\": 1", "}{\"a\": 2", "}"],
            &["{\"a\": 1}", "{\"a\": 2}", "{\"a\": 1}"],
            &["{\"a\": 1}", "{\"a\": "],
            &["{\"a\": 1}{}{\"a\": 2}"],
        ] {
            check(pieces, Err(ArgumentFault::Joined));
        }
        assert_eq!(pushed(&["{\"a\": 1"]), Err(ArgumentFault::NoObject));
        assert_eq!(of_value(Some(&json!("{}{\"a\": 1}"))).map(Value::Object), Ok(json!({"a": 1})));
        assert_eq!(of_value(Some(&json!([]))).map(Value::Object), Ok(json!({})));
        for odd in [json!([1]), json!(true), json!(7), json!("{\"a\": 1}, ")] {
            assert_eq!(of_value(Some(&odd)), Err(ArgumentFault::NoObject), "{odd}");
        }
    }

    #[test]
    fn brackets_in_strings_do_not_end_an_object() {
        let text = r#"{"a": "}{\"}\\", "b": [{"c": "]"}]}"#;
        for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            let mut arguments = ArgumentText::default();
            arguments.push(&text[..at]);
            assert!(!arguments.is_whole(), "{at}");
            arguments.push(&text[at..]);
            assert!(arguments.is_whole(), "{at}");
            assert_eq!(arguments.read().map(Value::Object), Ok(json!({"a": "}{\"}\\", "b": [{"c": "]"}]})), "{at}");
        }
    }
}
