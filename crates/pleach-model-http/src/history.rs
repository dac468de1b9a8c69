//! What formats with tool messages ask of a history: ids of calls that the provider takes, and text for what it cannot show.

use std::collections::{BTreeMap, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_core::{Blob, Part};

pub(crate) use crate::wire::MISSING_RESULT;

/// The ids of calls and responses as they are sent: the provider's own where it takes them, else new ones that pair the same
/// calls and responses.
pub(crate) struct CallIds {
    takes: fn(&str) -> bool,
    replaced: BTreeMap<String, String>,
    /// Calls without an id that have no response yet, by function.
    open: Vec<(String, VecDeque<String>)>,
    made: usize,
}

impl CallIds {
    /// Ids for a provider that takes those that `takes` says.
    pub(crate) fn new(takes: fn(&str) -> bool) -> Self {
        Self { takes, replaced: BTreeMap::new(), open: Vec::new(), made: 0 }
    }

    /// The id of a call.
    pub(crate) fn of_call(&mut self, id: Option<&str>, name: &str) -> String {
        match id.filter(|id| !id.is_empty()) {
            Some(id) => self.known(id),
            None => {
                let made = self.make();
                match self.open.iter_mut().find(|(open, _)| open == name) {
                    Some((_, ids)) => ids.push_back(made.clone()),
                    None => self.open.push((name.to_owned(), VecDeque::from([made.clone()]))),
                }
                made
            }
        }
    }

    /// The id of a response: one without an id answers the oldest open call of its function.
    pub(crate) fn of_response(&mut self, id: Option<&str>, name: &str) -> String {
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            return self.known(id);
        }
        let open = self.open.iter_mut().find(|(open, _)| open == name).and_then(|(_, ids)| ids.pop_front());
        open.unwrap_or_else(|| self.make())
    }

    fn known(&mut self, id: &str) -> String {
        if (self.takes)(id) {
            return id.to_owned();
        }
        if let Some(replaced) = self.replaced.get(id) {
            return replaced.clone();
        }
        let made = self.make();
        self.replaced.insert(id.to_owned(), made.clone());
        made
    }

    fn make(&mut self) -> String {
        self.made += 1;
        format!("call_{}", self.made)
    }
}

/// The text for a part that is neither text nor call nor response nor media: code and its result.
pub(crate) fn code_as_text(part: &Part) -> Option<String> {
    let fenced =
        |title: &str, kind: &str, text: Option<&str>| format!("{title}:\n```{kind}\n{}\n```", text.unwrap_or_default());
    if let Some(code) = &part.executable_code {
        return Some(fenced("Code", "python", code.code.as_deref()));
    }
    part.code_execution_result.as_ref().map(|result| fenced("Result of the code", "text", result.output.as_deref()))
}

/// The text for media that the provider takes only from the user.
pub(crate) fn media_as_text(part: &Part) -> Option<String> {
    let kind = |kind: &Option<String>| kind.clone().unwrap_or_else(|| "unknown type".to_owned());
    if let Some(blob) = &part.inline_data {
        return Some(format!("[media of {}]", kind(&blob.mime_type)));
    }
    part.file_data.as_ref().map(|file| format!("[file of {}]", kind(&file.mime_type)))
}

/// The media type without parameters, in lower case.
pub(crate) fn media_type(blob: &Blob) -> String {
    let kind = blob.mime_type.as_deref().unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The bytes of media; none when they are absent.
pub(crate) fn bytes(blob: &Blob) -> &[u8] {
    blob.data.as_ref().map(AsRef::as_ref).unwrap_or_default()
}

/// Standard base64, which data URIs and both providers ask for.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_a_provider_takes_stay_and_others_are_replaced_in_pairs() {
        let mut ids = CallIds::new(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)));
        assert_eq!(ids.of_call(Some("toolu_1"), "f"), "toolu_1");
        assert_eq!(ids.of_call(Some("functions.worker:0"), "f"), "call_1");
        assert_eq!((ids.of_call(None, "f"), ids.of_call(None, "g")), ("call_2".to_owned(), "call_3".to_owned()));
        assert_eq!(ids.of_response(None, "g"), "call_3");
        assert_eq!(ids.of_response(Some("functions.worker:0"), "f"), "call_1");
        assert_eq!(ids.of_response(Some(""), "f"), "call_2");
        assert_eq!(ids.of_response(None, "f"), "call_4");
    }
}
