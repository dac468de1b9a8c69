//! Prepares histories for formats with tool messages: ids that the provider accepts, and texts in place of parts that
//! it does not accept.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_core::{Blob, Part};

pub(crate) use crate::wire::MISSING_RESULT;

/// The ids of calls and responses in requests. The original id is used if the provider accepts it and no other call has
/// it. Otherwise the call and its response get a new id.
pub(crate) struct CallIds {
    takes: fn(&str) -> bool,
    /// The ids that are used already.
    used: BTreeSet<String>,
    /// The calls by their id in the log.
    known: BTreeMap<String, Sent>,
    /// Calls without an id that have no response yet, by function.
    open: Vec<(String, VecDeque<String>)>,
    made: usize,
}

/// The calls that share one id in the log, by the ids that they are sent with.
struct Sent {
    /// The calls without a response, the oldest first.
    open: VecDeque<String>,
    /// The call that was answered last.
    answered: Option<String>,
}

impl CallIds {
    /// Creates the ids for a provider. It accepts an id if `takes` returns true for it.
    pub(crate) fn new(takes: fn(&str) -> bool) -> Self {
        Self { takes, used: BTreeSet::new(), known: BTreeMap::new(), open: Vec::new(), made: 0 }
    }

    /// Returns the id of a call.
    pub(crate) fn of_call(&mut self, id: Option<&str>, name: &str) -> String {
        match id.filter(|id| !id.is_empty()) {
            Some(id) => {
                let sent = self.sent(id);
                let known = self.known.entry(id.to_owned());
                known.or_insert_with(Sent::new).open.push_back(sent.clone());
                sent
            }
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

    /// Returns the id of a response. It answers the oldest open call with its id or, without an id, of its function.
    pub(crate) fn of_response(&mut self, id: Option<&str>, name: &str) -> String {
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            if let Some(answered) = self.known.get_mut(id).and_then(Sent::answer) {
                return answered;
            }
            let sent = self.sent(id);
            self.known.entry(id.to_owned()).or_insert_with(Sent::new).answered = Some(sent.clone());
            return sent;
        }
        let open = self.open.iter_mut().find(|(open, _)| open == name).and_then(|(_, ids)| ids.pop_front());
        open.unwrap_or_else(|| self.make())
    }

    /// Returns the id that a call is sent with.
    fn sent(&mut self, id: &str) -> String {
        if (self.takes)(id) && self.used.insert(id.to_owned()) { id.to_owned() } else { self.make() }
    }

    fn make(&mut self) -> String {
        loop {
            self.made += 1;
            let made = format!("call_{}", self.made);
            if self.used.insert(made.clone()) {
                return made;
            }
        }
    }
}

impl Sent {
    fn new() -> Self {
        Self { open: VecDeque::new(), answered: None }
    }

    /// Answers the oldest open call. If none is open, answers the last one again.
    fn answer(&mut self) -> Option<String> {
        if let Some(open) = self.open.pop_front() {
            self.answered = Some(open);
        }
        self.answered.clone()
    }
}

/// Returns the text for code and for its result, which have no part of their own.
pub(crate) fn code_as_text(part: &Part) -> Option<String> {
    let fenced =
        |title: &str, kind: &str, text: Option<&str>| format!("{title}:\n```{kind}\n{}\n```", text.unwrap_or_default());
    if let Some(code) = &part.executable_code {
        return Some(fenced("Code", "python", code.code.as_deref()));
    }
    part.code_execution_result.as_ref().map(|result| fenced("Result of the code", "text", result.output.as_deref()))
}

/// Returns the text for media that the provider accepts only from the user.
pub(crate) fn media_as_text(part: &Part) -> Option<String> {
    let kind = |kind: &Option<String>| kind.clone().unwrap_or_else(|| "unknown type".to_owned());
    if let Some(blob) = &part.inline_data {
        return Some(format!("[media of {}]", kind(&blob.mime_type)));
    }
    part.file_data.as_ref().map(|file| format!("[file of {}]", kind(&file.mime_type)))
}

/// Returns the media type in lower case, without parameters.
pub(crate) fn media_type(blob: &Blob) -> String {
    let kind = blob.mime_type.as_deref().unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns the bytes of media, or no bytes if they are absent.
pub(crate) fn bytes(blob: &Blob) -> &[u8] {
    blob.data.as_ref().map(AsRef::as_ref).unwrap_or_default()
}

/// Encodes bytes in standard base64, which data URIs and both providers require.
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

    #[test]
    fn an_id_that_several_calls_have_is_sent_once() {
        let mut ids = CallIds::new(|_| true);
        // The second call is from a later answer, whose server counts from 0 again.
        assert_eq!([ids.of_call(Some("0"), "f"), ids.of_call(Some("0"), "g")], ["0", "call_1"]);
        assert_eq!([ids.of_response(Some("0"), "f"), ids.of_response(Some("0"), "g")], ["0", "call_1"]);
        assert_eq!(ids.of_call(Some("0"), "f"), "call_2");
        // A repeated response answers the same call.
        assert_eq!([ids.of_response(Some("0"), "f"), ids.of_response(Some("0"), "f")], ["call_2", "call_2"]);
        assert_eq!([ids.of_call(Some("call_3"), "f"), ids.of_call(None, "f")], ["call_3", "call_4"]);
    }
}
