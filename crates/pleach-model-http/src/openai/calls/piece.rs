//! A piece of a call as servers write it.

use std::borrow::Cow;

use pleach_core::Bytes;
use serde_json::Value;

use crate::arguments::ArgumentText;
use crate::wire::index;

/// A whole call or a piece of one, as a server sends it.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    /// The position among the calls. Some servers write it as a string.
    pub(super) index: Option<u64>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<&'a str>,
    arguments: Given<'a>,
    pub(super) signature: Option<Bytes>,
}

/// The arguments in a piece.
#[derive(Clone, Copy, Debug)]
enum Given<'a> {
    Nothing,
    Text(&'a str),
    /// A JSON value instead of its text.
    Json(&'a Value),
}

impl<'a> Piece<'a> {
    /// Reads a piece. The older form of a call has the members of the function at its top.
    pub(super) fn read(piece: &'a Value) -> Self {
        let function = piece.get("function").filter(|function| function.is_object()).unwrap_or(piece);
        Self {
            index: index(piece.get("index")),
            id: id(piece.get("id")),
            name: function.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()),
            arguments: match function.get("arguments") {
                Some(Value::String(text)) => Given::Text(text),
                Some(Value::Null) | None => Given::Nothing,
                Some(json) => Given::Json(json),
            },
            signature: signature(piece),
        }
    }

    /// Adds the piece's arguments to the arguments of its call.
    pub(super) fn add_to(&self, arguments: &mut ArgumentText) {
        match self.arguments {
            Given::Nothing => {}
            Given::Text(text) => arguments.push(text),
            Given::Json(json) => arguments.push_json(json),
        }
    }

    /// Returns true if the piece has no arguments.
    pub(super) fn is_blank(&self) -> bool {
        match self.arguments {
            Given::Nothing => true,
            Given::Text(text) => text.trim().is_empty(),
            Given::Json(_) => false,
        }
    }
}

fn id(value: Option<&Value>) -> Option<Cow<'_, str>> {
    match value? {
        Value::String(id) if !id.is_empty() => Some(Cow::Borrowed(id)),
        Value::Number(id) => Some(Cow::Owned(id.to_string())),
        _ => None,
    }
}

/// Returns Gemini's signature on a call, which servers in front of Gemini pass on.
fn signature(call: &Value) -> Option<Bytes> {
    let google = call.get("extra_content").and_then(|extra| extra.get("google")?.get("thought_signature"));
    let fields = || call.get("provider_specific_fields")?.get("thought_signature");
    Bytes::from_base64(google.or_else(fields)?.as_str()?).ok()
}
