//! The places in an event whose values can become payloads.

use std::fmt;
use std::str::FromStr;

use pleach_core::{
    Bytes, Event, FunctionResponsePart, Map, Part, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT,
};

use crate::size::{is_larger, is_larger_map};

/// A place in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The output of a node.
    Output,
    /// A field of the part with this index.
    Part(usize, Field),
}

/// A field of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Text,
    Media,
    Code,
    CodeOutput,
    Args,
    Response,
    ResponseMedia,
    ToolArgs,
    ToolResponse,
}

const OUTPUT: &str = "output";

/// All fields in the order in which they are taken, with their names in JSON.
const FIELDS: [(Field, &str); 9] = [
    (Field::Text, "text"),
    (Field::Media, "inline_data"),
    (Field::Code, "executable_code.code"),
    (Field::CodeOutput, "code_execution_result.output"),
    (Field::Args, "function_call.args"),
    (Field::Response, "function_response.response"),
    (Field::ResponseMedia, "function_response.parts"),
    (Field::ToolArgs, "tool_call.args"),
    (Field::ToolResponse, "tool_response.response"),
];

/// The JSON path, for example `content.parts[0].text`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output => f.write_str(OUTPUT),
            Self::Part(number, field) => write!(f, "content.parts[{number}].{}", field.name()),
        }
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == OUTPUT {
            return Ok(Self::Output);
        }
        let (number, name) = text.strip_prefix("content.parts[").and_then(|rest| rest.split_once("].")).ok_or(())?;
        let field = FIELDS.iter().find(|(_, known)| *known == name).ok_or(())?.0;
        Ok(Self::Part(number.parse().map_err(|_| ())?, field))
    }
}

impl Field {
    fn name(self) -> &'static str {
        FIELDS.iter().find(|(field, _)| *field == self).map_or("", |(_, name)| *name)
    }

    /// Returns `true` if the field of a part has more than `limit` bytes.
    fn is_larger(self, part: &Part, limit: usize) -> bool {
        let text = |text: Option<&String>| text.is_some_and(|text| text.len() > limit);
        let map = |map: Option<&Map>| map.is_some_and(|map| is_larger_map(map, limit));
        match self {
            Self::Text => text(part.text.as_ref()),
            Self::Media => part.inline_data.as_ref().is_some_and(|blob| len(blob.data.as_ref()) > limit),
            Self::Code => text(part.executable_code.as_ref().and_then(|code| code.code.as_ref())),
            Self::CodeOutput => text(part.code_execution_result.as_ref().and_then(|result| result.output.as_ref())),
            Self::Args => map(part.function_call.as_ref().and_then(|call| call.args.as_ref())),
            Self::Response => map(part.function_response.as_ref().and_then(|response| response.response.as_ref())),
            Self::ResponseMedia => {
                let parts = part.function_response.as_ref().and_then(|response| response.parts.as_deref());
                parts.is_some_and(|parts| parts.iter().map(media_len).sum::<usize>() > limit)
            }
            Self::ToolArgs => map(part.tool_call.as_ref().and_then(|call| call.args.as_ref())),
            Self::ToolResponse => map(part.tool_response.as_ref().and_then(|response| response.response.as_ref())),
        }
    }
}

fn len(data: Option<&Bytes>) -> usize {
    data.map_or(0, |data| data.len())
}

fn media_len(part: &FunctionResponsePart) -> usize {
    len(part.inline_data.as_ref().and_then(|blob| blob.data.as_ref()))
}

/// Returns the places of an event whose values have more than `limit` bytes and may be stored elsewhere, in order.
///
/// Values that a store reads from events stay: the calls that ask questions, and the responses of users, which answer
/// them.
pub(crate) fn large_places(event: &Event, limit: usize) -> Vec<Place> {
    let output = event.output().filter(|output| is_larger(output, limit)).map(|_| Place::Output);
    let parts = event.content().map_or(&[][..], |content| content.parts());
    let of_parts = parts.iter().enumerate().flat_map(|(number, part)| {
        let fields = FIELDS.iter().map(|(field, _)| *field).filter(|field| field.is_larger(part, limit));
        fields.filter(|field| !is_read_in_place(event, part, *field)).map(move |field| Place::Part(number, field))
    });
    output.into_iter().chain(of_parts).collect()
}

/// Returns `true` if session services read the field from the stored event.
fn is_read_in_place(event: &Event, part: &Part, field: Field) -> bool {
    match field {
        Field::Args => part.function_call.as_deref().is_some_and(|call| {
            let asks = matches!(call.name.as_deref(), Some(REQUEST_INPUT | REQUEST_CONFIRMATION | REQUEST_CREDENTIAL));
            asks || call.id.as_deref().is_some_and(|id| event.interrupt_ids().contains(id))
        }),
        Field::Response | Field::ResponseMedia => event.author() == "user",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written() {
        let fields = FIELDS.iter().map(|(field, _)| Place::Part(12, *field));
        for place in [Place::Output].into_iter().chain(fields) {
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        for text in ["", "Output", "content", "content.parts[].text", "content.parts[-1].text", "content.parts[0].role"]
        {
            assert_eq!(text.parse::<Place>(), Err(()), "{text}");
        }
    }
}
