//! Taking a value out of an event, and putting it back.

use pleach_core::{Blob, Event, FunctionResponsePart, Map, Part};
use serde_json::{Value, json};

use crate::place::{Field, Place};

/// A value outside its event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Payload {
    Json(Value),
    Text(String),
    Media(Box<Blob>),
    Parts(Vec<FunctionResponsePart>),
}

/// The part of a payload that stays with its reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shell {
    /// The media without their bytes.
    pub(crate) blob: Option<Blob>,
    /// Whether the reference is written as the text of the part, because the part has no text of its own.
    pub(crate) as_text: bool,
}

impl Payload {
    /// Returns the bytes of the artifact.
    pub(crate) fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        match self {
            Self::Json(value) => serde_json::to_vec(value),
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Media(blob) => Ok(blob.data.as_ref().map(|data| data.to_vec()).unwrap_or_default()),
            Self::Parts(parts) => serde_json::to_vec(parts),
        }
    }

    /// Returns the media type of the artifact.
    pub(crate) fn media_type(&self) -> &str {
        match self {
            Self::Json(_) | Self::Parts(_) => "application/json",
            Self::Text(_) => "text/plain",
            Self::Media(blob) => {
                blob.mime_type.as_deref().filter(|mime| !mime.is_empty()).unwrap_or("application/octet-stream")
            }
        }
    }

    /// Reads the bytes of an artifact for a place; `None` if they do not fit the place.
    pub(crate) fn from_bytes(place: Place, bytes: Vec<u8>, shell: &Shell) -> Option<Self> {
        match place {
            Place::Part(_, Field::Text | Field::Code | Field::CodeOutput) => {
                String::from_utf8(bytes).ok().map(Self::Text)
            }
            Place::Part(_, Field::Media) => {
                let mut blob = shell.blob.clone()?;
                blob.data = Some(bytes.into());
                Some(Self::Media(Box::new(blob)))
            }
            Place::Part(_, Field::ResponseMedia) => serde_json::from_slice(&bytes).ok().map(Self::Parts),
            Place::Output => serde_json::from_slice(&bytes).ok().map(Self::Json),
            Place::Part(..) => serde_json::from_slice(&bytes).ok().map(|map| Self::Json(Value::Object(map))),
        }
    }
}

impl Place {
    /// Takes the value at this place out of an event, without leaving a reference.
    pub(crate) fn take(self, event: &mut Event) -> Option<(Payload, Shell)> {
        let plain = |payload| (payload, Shell::default());
        let json = |map: Map| plain(Payload::Json(Value::Object(map)));
        let Self::Part(number, field) = self else { return event.take_output().map(Payload::Json).map(plain) };
        let part = part_mut(event, number)?;
        match field {
            Field::Text => part.text.take().map(Payload::Text).map(plain),
            Field::Media => {
                let mut blob = part.inline_data.take()?;
                let data = blob.data.take();
                let shell = Shell { blob: Some(Blob::clone(&blob)), as_text: part.text.is_none() };
                blob.data = data;
                Some((Payload::Media(blob), shell))
            }
            Field::Code => part.executable_code.as_mut()?.code.take().map(Payload::Text).map(plain),
            Field::CodeOutput => part.code_execution_result.as_mut()?.output.take().map(Payload::Text).map(plain),
            Field::Args => part.function_call.as_mut()?.args.take().map(json),
            Field::Response => part.function_response.as_mut()?.response.take().map(json),
            Field::ResponseMedia => part.function_response.as_mut()?.parts.take().map(Payload::Parts).map(plain),
            Field::ToolArgs => part.tool_call.as_mut()?.args.take().map(json),
            Field::ToolResponse => part.tool_response.as_mut()?.response.take().map(json),
        }
    }

    /// Writes a reference where a value was taken, in a form that google-adk can read.
    pub(crate) fn refer(self, event: &mut Event, name: &str, bytes: usize, shell: &Shell) {
        let object =
            || Map::from_iter([("pleach_payload".to_owned(), json!(name)), ("bytes".to_owned(), json!(bytes))]);
        let text = || format!("[payload {name}, {bytes} bytes]");
        let Self::Part(number, field) = self else { return event.set_output(Some(Value::Object(object()))) };
        let Some(part) = part_mut(event, number) else { return };
        match field {
            Field::Text => part.text = Some(text()),
            Field::Media if shell.as_text => part.text = Some(text()),
            // Leave no reference here: google-adk could not send it to a model. The metadata has the list of
            // references.
            Field::Media | Field::ResponseMedia => {}
            Field::Code => part.executable_code.iter_mut().for_each(|code| code.code = Some(text())),
            Field::CodeOutput => part.code_execution_result.iter_mut().for_each(|result| result.output = Some(text())),
            Field::Args => part.function_call.iter_mut().for_each(|call| call.args = Some(object())),
            Field::Response => {
                part.function_response.iter_mut().for_each(|response| response.response = Some(object()))
            }
            Field::ToolArgs => part.tool_call.iter_mut().for_each(|call| call.args = Some(object())),
            Field::ToolResponse => {
                part.tool_response.iter_mut().for_each(|response| response.response = Some(object()))
            }
        }
    }

    /// Puts a value back in place of its reference. Returns `None` if the event has no such place.
    pub(crate) fn put(self, event: &mut Event, payload: Payload, shell: &Shell) -> Option<()> {
        let Self::Part(number, field) = self else {
            let Payload::Json(output) = payload else { return None };
            event.set_output(Some(output));
            return Some(());
        };
        let part = part_mut(event, number)?;
        match (field, payload) {
            (Field::Text, Payload::Text(text)) => part.text = Some(text),
            (Field::Media, Payload::Media(blob)) => {
                part.inline_data = Some(blob);
                if shell.as_text {
                    part.text = None;
                }
            }
            (Field::Code, Payload::Text(text)) => part.executable_code.as_mut()?.code = Some(text),
            (Field::CodeOutput, Payload::Text(text)) => part.code_execution_result.as_mut()?.output = Some(text),
            (Field::Args, Payload::Json(Value::Object(map))) => part.function_call.as_mut()?.args = Some(map),
            (Field::Response, Payload::Json(Value::Object(map))) => {
                part.function_response.as_mut()?.response = Some(map);
            }
            (Field::ResponseMedia, Payload::Parts(parts)) => part.function_response.as_mut()?.parts = Some(parts),
            (Field::ToolArgs, Payload::Json(Value::Object(map))) => part.tool_call.as_mut()?.args = Some(map),
            (Field::ToolResponse, Payload::Json(Value::Object(map))) => {
                part.tool_response.as_mut()?.response = Some(map);
            }
            _ => return None,
        }
        Some(())
    }
}

fn part_mut(event: &mut Event, number: usize) -> Option<&mut Part> {
    event.content_mut()?.parts.as_mut()?.get_mut(number)
}
