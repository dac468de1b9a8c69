//! Checks for values that no store can keep, before anything is written.
// S47

use std::fmt;
use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CharEscape, Formatter, Serializer};

use crate::depth::limited::{DEEP, DEEPEST, DepthBudget, Limited};
use crate::depth::nests_within;
use crate::quick_check::Clean;
use crate::{Event, Map, StateOp};

/// A value of an event or a state that cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} cannot be stored: {reason}")]
pub struct Unstorable {
    /// The path of the value, for example `actions.state_delta.note[2]`.
    pub field: String,
    /// Why it cannot be stored.
    pub reason: &'static str,
}

const NUL: &str = "the text contains the character U+0000";

/// The path of a value. Each level points to the enclosing one, so that nothing is allocated unless there is a
/// fault.
#[derive(Clone, Copy)]
enum Location<'a> {
    Root(&'a str),
    Key(&'a Location<'a>, &'a str),
    Index(&'a Location<'a>, usize),
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(name) => f.write_str(name),
            Self::Key(Self::Root(""), key) => write!(f, "{}", key.escape_debug()),
            Self::Key(outer, key) => write!(f, "{outer}.{}", key.escape_debug()),
            Self::Index(outer, index) => write!(f, "{outer}[{index}]"),
        }
    }
}

impl Location<'_> {
    fn level(&self) -> usize {
        match self {
            Self::Root(_) => 0,
            Self::Key(outer, _) | Self::Index(outer, _) => outer.level() + 1,
        }
    }

    /// Returns the location, or the enclosing one that is three steps from the root: a path of 128 steps is
    /// unreadable.
    fn nearby(&self) -> &Self {
        match self {
            Self::Key(outer, _) | Self::Index(outer, _) if self.level() > 3 => outer.nearby(),
            _ => self,
        }
    }
}

fn text(location: &Location<'_>, text: &str) -> Result<(), Unstorable> {
    if !text.as_bytes().contains(&0) {
        return Ok(());
    }
    Err(Unstorable { field: location.to_string(), reason: NUL })
}

fn map(location: &Location<'_>, map: &Map, depth: usize) -> Result<(), Unstorable> {
    let depth = deeper(location, depth)?;
    map.iter().try_for_each(|(key, member)| {
        let location = Location::Key(location, key);
        text(&location, key)?;
        value(&location, member, depth)
    })
}

/// Returns the depth one level below `depth`, if that depth is allowed.
fn deeper(location: &Location<'_>, depth: usize) -> Result<usize, Unstorable> {
    match depth {
        ..DEEPEST => Ok(depth + 1),
        _ => Err(Unstorable { field: location.nearby().to_string(), reason: DEEP }),
    }
}

fn value(location: &Location<'_>, checked: &Value, depth: usize) -> Result<(), Unstorable> {
    match checked {
        Value::String(string) => text(location, string),
        Value::Array(items) => {
            let depth = deeper(location, depth)?;
            items.iter().enumerate().try_for_each(|(index, item)| value(&Location::Index(location, index), item, depth))
        }
        Value::Object(object) => map(location, object, depth),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Checks a JSON value; `field` names it in the error.
///
/// # Errors
/// [`Unstorable`] if a string or a key contains U+0000, or if values nest more than 127 levels deep.
pub fn check_storable(field: &str, checked: &Value) -> Result<(), Unstorable> {
    value(&Location::Root(field), checked, 0)
}

/// Checks a state or another map; `field` names it in the error.
///
/// # Errors
/// [`Unstorable`] if a string or a key contains U+0000, or if values nest more than 127 levels deep.
pub fn check_map(field: &str, checked: &Map) -> Result<(), Unstorable> {
    map(&Location::Root(field), checked, 0)
}

impl Unstorable {
    /// Returns `true` if the value was refused because it nests too deep.
    #[must_use]
    pub fn is_too_deep(&self) -> bool {
        self.reason == DEEP
    }
}

/// Checks the state operations of an event. They are not part of its JSON, so no other check sees them before they are
/// applied.
pub(crate) fn check_ops(event: &Event) -> Result<(), Unstorable> {
    let ops = event.actions().state_ops();
    if ops.is_empty() {
        return Ok(());
    }
    // The value is enclosed by the event, its actions, the delta and possibly a list.
    let mut deep = ops
        .iter()
        .filter(|(_, ops)| !ops.iter().flat_map(StateOp::values).all(|value| nests_within(value, DEEPEST - 4)));
    let too_deep =
        |key: &str| Unstorable { field: format!("actions.state_delta.{}", key.escape_debug()), reason: DEEP };
    deep.next().map_or(Ok(()), |(key, _)| Err(too_deep(key)))
}

/// Checks all values of an event.
///
/// # Errors
/// [`Unstorable`] if a string or a key contains U+0000, or if values nest more than 127 levels deep.
pub fn check_event(event: &Event) -> Result<(), Unstorable> {
    check_ops(event)?;
    if event.passes(&Clean) {
        return Ok(());
    }
    write_checked("", event, io::sink()).map(drop)
}

/// Writes a value as compact JSON text and checks it in the same pass.
///
/// `field` names the value in the error; it may be empty.
///
/// # Errors
/// [`Unstorable`] if a string or a key contains U+0000, or if values nest more than 127 levels deep.
pub fn to_storable_json<T: Serialize + ?Sized>(field: &str, value: &T) -> Result<String, Unstorable> {
    let bytes = write_checked(field, value, Vec::with_capacity(512))?;
    Ok(String::from_utf8(bytes).expect("JSON text is UTF-8"))
}

/// Returns `true` if [`to_storable_json`] can write the value. Nothing is allocated.
pub(crate) fn is_storable<T: Serialize + ?Sized>(value: &T) -> bool {
    write_checked("", value, io::sink()).is_ok()
}

fn write_checked<T, W>(field: &str, value: &T, writer: W) -> Result<W, Unstorable>
where
    T: Serialize + ?Sized,
    W: io::Write,
{
    let mut serializer = Serializer::with_formatter(writer, Refuse { depth: 0 });
    match value.serialize(&mut serializer) {
        Ok(()) => Ok(serializer.into_inner()),
        Err(_) => Err(find(field, value)),
    }
}

/// Finds the location of a fault. It is slow, and called only if there is one.
pub(crate) fn find<T: Serialize + ?Sized>(field: &str, wrong: &T) -> Unstorable {
    let location = Location::Root(field);
    let json = wrong.serialize(Limited { inner: serde_json::value::Serializer, budget: DepthBudget::CUT });
    let found = json.ok().and_then(|json| value(&location, &json, 0).err());
    found.unwrap_or_else(|| Unstorable { field: field.to_owned(), reason: "the value has no JSON form" })
}

/// A formatter for serde_json's compact form that refuses U+0000 and nesting that is too deep.
struct Refuse {
    depth: usize,
}

impl Refuse {
    fn enter<W: io::Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST { Err(io::Error::other(DEEP)) } else { writer.write_all(bracket) }
    }

    fn leave<W: io::Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(bracket)
    }
}

impl Formatter for Refuse {
    fn begin_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter(writer, b"[")
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.leave(writer, b"]")
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter(writer, b"{")
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.leave(writer, b"}")
    }

    fn write_char_escape<W: io::Write + ?Sized>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        let text = match escape {
            CharEscape::Quote => "\\\"",
            CharEscape::ReverseSolidus => "\\\\",
            CharEscape::Solidus => "\\/",
            CharEscape::Backspace => "\\b",
            CharEscape::FormFeed => "\\f",
            CharEscape::LineFeed => "\\n",
            CharEscape::CarriageReturn => "\\r",
            CharEscape::Tab => "\\t",
            CharEscape::AsciiControl(0) => return Err(io::Error::other(NUL)),
            CharEscape::AsciiControl(code) => return write!(writer, "\\u{code:04x}"),
        };
        writer.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Value, check_event, check_map, check_storable, to_storable_json};
    use crate::{Event, Part};

    // S47, edge case 62: the error names the location of the text.
    #[test]
    fn nul_is_refused_by_name() {
        let in_state = Event::new().with_state("note", json!(["a", "b", {"x": "c\0"}]));
        let in_key = Event::of(json!({"a\0": 1}));
        let in_text = Event::message(vec![Part::text("ok"), Part::text("\0")]);
        for (event, field) in [
            (in_state, "actions.state_delta.note[2].x"),
            (in_key, "output.a\\0"),
            (in_text, "content.parts[1].text"),
            (Event::from_author("\0"), "author"),
        ] {
            let error = check_event(&event).unwrap_err();
            assert_eq!(error.field, field);
            assert_eq!(to_storable_json("", &event), Err(error));
        }
    }

    /// serde_json reads 127 levels, so no more may be written.
    #[test]
    fn nesting_that_is_too_deep_is_refused_by_name() {
        let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        // The event, its actions and the delta are three levels around the value.
        let at_most = Event::new().with_state("deep", nested(124));
        let json = to_storable_json("", &at_most).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), at_most);
        check_event(&at_most).unwrap();
        let error = check_event(&Event::new().with_state("deep", nested(125))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "actions.state_delta.deep cannot be stored: its values are nested more than 127 levels deep"
        );
        let without_end = (0..100_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
        let event = Event::new().with_custom_metadata(json!({"deep": null}).as_object().unwrap().clone());
        let event = event.with_state("deep", without_end);
        assert_eq!(
            check_event(&event).unwrap_err(),
            check_event(&Event::new().with_state("deep", nested(125))).unwrap_err()
        );
        crate::discard_event(event.into());
        let error = check_map("state", json!({"a": 1, "deep": nested(127)}).as_object().unwrap()).unwrap_err();
        assert!(error.field.starts_with("state.deep"), "{}", error.field);
        check_map("state", json!({"deep": nested(126)}).as_object().unwrap()).unwrap();
    }

    #[test]
    fn harmless_texts_pass() {
        let text = "\\u0000 \"\\\u{1f}\n\t\r\u{8}\u{c} \u{1f600} /";
        let event = Event::message(text).with_state("k", text);
        check_event(&event).unwrap();
        let json = to_storable_json("", &event).unwrap();
        assert_eq!(json, serde_json::to_string(&event).unwrap());
        assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
    }

    #[test]
    fn values_and_maps_are_named() {
        assert_eq!(check_storable("output", &json!("\0")).unwrap_err().field, "output");
        let state = json!({"a": {"b": "\0"}});
        let error = check_map("state", state.as_object().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "state.a.b cannot be stored: the text contains the character U+0000");
        check_map("state", json!({"a": "b"}).as_object().unwrap()).unwrap();
    }
}
