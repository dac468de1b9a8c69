//! The note in an event's metadata that lists the values taken out of the event.

use pleach_core::{Blob, Event, Map};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::place::Place;
use crate::take::Shell;

// The key of the note in `custom_metadata`.
pub(crate) use pleach_session::PAYLOADS as KEY;

/// The values that were taken out of an event.
///
/// JSON: `{"taken": [{"place", "artifact", "bytes"}, …], "gone": ["payload-…", …]}`.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    pub(crate) taken: Vec<Entry>,
    /// The names of payloads that a redaction deletes. If a crash leaves some of them, repeating the redaction deletes
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) gone: Vec<String>,
    /// The event's own metadata under the key of the note.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    own: Option<Value>,
    /// Whether the event's own metadata is an empty object instead of absent.
    #[serde(default, skip_serializing_if = "is_false")]
    empty: bool,
}

/// A reference to a payload.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// The text form of a [`Place`].
    pub(crate) place: String,
    /// The name of the artifact.
    pub(crate) artifact: String,
    /// The length of the artifact.
    pub(crate) bytes: u64,
    /// The media without their bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blob: Option<Blob>,
    /// Whether the part's text is the reference.
    #[serde(default, skip_serializing_if = "is_false")]
    as_text: bool,
}

impl Entry {
    pub(crate) fn new(place: Place, artifact: String, bytes: usize, shell: &Shell) -> Self {
        Self {
            place: place.to_string(),
            artifact,
            bytes: bytes as u64,
            blob: shell.blob.clone(),
            as_text: shell.as_text,
        }
    }

    pub(crate) fn shell(&self) -> Shell {
        Shell { blob: self.blob.clone(), as_text: self.as_text }
    }
}

impl Note {
    /// Returns `true` if an event has a note, or metadata that looks like one.
    pub(crate) fn is_on(event: &Event) -> bool {
        event.custom_metadata().is_some_and(|metadata| metadata.contains_key(KEY))
    }

    /// Reads the note of an event; `None` if there is no note that can be read.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        Self::deserialize(event.custom_metadata()?.get(KEY)?).ok()
    }

    /// Writes a note with these references into an event. A value that the event's metadata already has under the key
    /// is kept inside the note.
    pub(crate) fn write(taken: Vec<Entry>, gone: Vec<String>, event: &mut Event) -> serde_json::Result<()> {
        let own = event.custom_metadata().cloned();
        let empty = own.as_ref().is_some_and(Map::is_empty);
        let mut metadata = own.unwrap_or_default();
        let note = Self { taken, gone, own: metadata.remove(KEY), empty };
        metadata.insert(KEY.to_owned(), serde_json::to_value(note)?);
        event.set_custom_metadata(Some(metadata));
        Ok(())
    }

    /// Takes the note out of an event and restores the event's own metadata. Returns `None` if there is no note.
    ///
    /// # Errors
    /// Fails if the value under the key is not a note.
    pub(crate) fn take(event: &mut Event) -> Option<serde_json::Result<Self>> {
        let mut metadata = event.custom_metadata().filter(|metadata| metadata.contains_key(KEY)).cloned()?;
        let mut note: Self = match serde_json::from_value(metadata.remove(KEY)?) {
            Ok(note) => note,
            Err(error) => return Some(Err(error)),
        };
        if let Some(own) = note.own.take() {
            metadata.insert(KEY.to_owned(), own);
        }
        event.set_custom_metadata(Some(metadata).filter(|metadata| note.empty || !metadata.is_empty()));
        Some(Ok(note))
    }
}

/// Reads a value that is present, even if it is null.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_note_leaves_the_metadata_as_it_was() {
        let forged = json!({"taken": [{"place": "output", "artifact": "a", "bytes": 1}]});
        for metadata in [
            None,
            Some(json!({})),
            Some(json!({"a": 1})),
            Some(json!({"pleach_payloads": null})),
            Some(json!({"a": 1, "pleach_payloads": forged})),
        ] {
            let mut event = Event::of(1);
            event.set_custom_metadata(metadata.clone().and_then(|metadata| metadata.as_object().cloned()));
            let before = event.clone();
            Note::write(Vec::new(), Vec::new(), &mut event).unwrap();
            let text = serde_json::to_string(&event).unwrap();
            let mut event: Event = serde_json::from_str(&text).unwrap();
            assert_eq!(Note::take(&mut event).unwrap().unwrap().taken, []);
            assert_eq!(event, before, "{metadata:?}");
        }
        let mut event = Event::of(1).with_custom_metadata(json!({"pleach_payloads": 1}).as_object().unwrap().clone());
        assert!(Note::take(&mut event).unwrap().is_err());
        assert!(Note::take(&mut Event::of(1)).is_none());
    }
}
