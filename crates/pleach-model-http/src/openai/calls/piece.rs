//! A piece of a call as servers write it.

use std::borrow::Cow;

use pleach_core::Bytes;
use serde_json::Value;

use crate::arguments::ArgumentText;
use crate::wire::index;

/// A call as a server sends it: whole, or a piece of it.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    /// The place among the calls; some servers write it as a text.
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
    /// JSON, not the text of it.
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

    /// Adds the arguments of the piece to those of its call.
    pub(super) fn add_to(&self, arguments: &mut ArgumentText) {
        match self.arguments {
            Given::Nothing => {}
            Given::Text(text) => arguments.push(text),
            Given::Json(json) => arguments.push_json(json),
        }
    }

    /// Whether there are no arguments in the piece.
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

/// The signature of Gemini on a call, from servers in front of it.
fn signature(call: &Value) -> Option<Bytes> {
    let google = call.get("extra_content").and_then(|extra| extra.get("google")?.get("thought_signature"));
    let fields = || call.get("provider_specific_fields")?.get("thought_signature");
    Bytes::from_base64(google.or_else(fields)?.as_str()?).ok()
}
