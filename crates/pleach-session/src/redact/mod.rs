//! Redaction: removing values from a stored event while keeping the log valid.

mod check;
mod document;
mod log;
mod note;
mod places;
mod pointer;

pub use check::{check_redacted, is_left_of};
pub use document::redacted_document;

use std::borrow::Cow;

use pleach_core::{Event, EventId, Session, SessionKey};
use serde_json::Value;

use crate::notes::PAYLOADS;
use crate::prepare::system_time;
use crate::{RedactionFault, SessionError, SessionResult};

/// The values of a stored event to remove, and the reason.
///
/// Each path is a JSON pointer (RFC 6901) into the event. The event's fields are written in snake case, as they are
/// stored, or in camel case, as in the HTTP API. These values may be redacted, and everything inside those that are
/// JSON:
///
/// | path | value afterwards |
/// |---|---|
/// | `/output`, `/error_message`, `/actions/set_model_response`, `/actions/transfer_reason`, fields of the event that this version does not know | `"[redacted]"` |
/// | `/content` | each of its parts, as below |
/// | `/content/parts/0` | all values of the part that are listed below |
/// | `…/text`, `…/executable_code`, `…/code_execution_result` | `"[redacted]"` as the text, the code, the output |
/// | `…/inline_data`, `…/file_data` | no media; the text `"[redacted]"` if the part has none |
/// | `…/function_call/args`, `…/tool_call/args` | `{}` |
/// | `…/function_response/response`, `…/tool_response/response` | `{"result": "[redacted]"}` |
/// | `…/function_response/parts`, `…/thought_signature`, `…/audio_transcription` | nothing; the signature of a thought is removed together with its text |
/// | `…/part_metadata`, `/actions/state_delta`, `/custom_metadata` | `"[redacted]"` for each key |
/// | `/actions/compaction/compacted_content` | as `/content` |
/// | `/actions/render_ui_widgets`, `/actions/requested_tool_confirmations` | their payloads and hints: `"[redacted]"` |
/// | `/input_transcription`, `/output_transcription`, `/grounding_metadata`, `/citation_metadata`, `/logprobs_result` | nothing |
///
/// The engine reads the following values, so a redaction of them is refused: ids, times, names, keys of maps,
/// unknown fields inside known fields, routes, checkpoints (`agent_state`) and `requested_auth_configs`. In a call
/// that asks a question, only the message, the payload, the hint and the arguments of the tool that needs permission
/// may be redacted.
///
/// Some values of the engine itself may be redacted: the `/output/payload` of a step that took a signal, and three
/// values in the engine's metadata. These are the payload of a kept signal (`/custom_metadata/pleach_signal`), the
/// messages of `pleach_caught_failures` and the outputs of `pleach_delegated_runs`.
///
/// Until a run has ended, the values that it still reads cannot be redacted either. These are the arguments of calls
/// without a response, code that was not executed, and the part of an answer that its question's schema needs.
///
/// The event's `custom_metadata` records what was done:
///
/// ```json
/// {"pleach_redactions": [{"paths": ["/output/card"], "reason": "a customer's request", "at": 1764000000.0}]}
/// ```
///
/// If values of the state delta were removed, `"state"` lists their keys. A program that applies the delta again leaves
/// these keys out.
#[derive(Clone, Debug, PartialEq)]
pub struct Redaction {
    paths: Vec<String>,
    reason: String,
    time: Option<f64>,
}

impl Redaction {
    /// Names the values to remove, and the reason, which is stored in the event.
    pub fn new(paths: impl IntoIterator<Item = impl Into<String>>, reason: impl Into<String>) -> Self {
        Self { paths: paths.into_iter().map(Into::into).collect(), reason: reason.into(), time: None }
    }

    /// Sets the time of the redaction, in seconds since the epoch. The default is the system's time.
    #[must_use]
    pub fn with_time(mut self, time: f64) -> Self {
        self.time = Some(time);
        self
    }

    /// Returns the time of the redaction, in seconds since the epoch, if it is set.
    #[must_use]
    pub fn time(&self) -> Option<f64> {
        self.time
    }

    pub(crate) fn time_or_now(&self) -> f64 {
        self.time.unwrap_or_else(system_time)
    }

    /// Returns the redacted event of a session; an equal event if all the values are already redacted.
    pub(crate) fn apply_to(&self, session: &Session, event: &EventId) -> SessionResult<Event> {
        let key = session.key();
        let place = session.events.iter().position(|stored| stored.id() == event);
        let place = place.ok_or_else(|| SessionError::redaction(key, event, "", RedactionFault::UnknownEvent))?;
        let redacted = self.apply(key, &session.events[place])?;
        match log::check(&session.events, place, &redacted) {
            Ok(()) => Ok(redacted),
            Err(fault) => Err(SessionError::redaction(key, event, &self.paths.join(" "), fault)),
        }
    }

    fn apply(&self, key: &SessionKey, event: &Event) -> SessionResult<Event> {
        let refused = |path: &str, fault| SessionError::redaction(key, event.id(), path, fault);
        if self.paths.is_empty() {
            return Err(refused("", RedactionFault::NoPath));
        }
        if event.custom_metadata().and_then(|metadata| metadata.get(PAYLOADS)).is_some_and(has_payloads) {
            return Err(refused("", RedactionFault::Payloads));
        }
        let unreadable = |error: serde_json::Error| SessionError::Corrupt {
            what: format!("event {} of session {key}", event.id()),
            source: pleach_core::without_data(error),
        };
        let stored = serde_json::to_value(event).map_err(unreadable)?;
        let mut redacted = stored.clone();
        for path in &self.paths {
            let tokens = pointer::tokens(path).ok_or_else(|| refused(path, RedactionFault::NoPointer))?;
            match redact(&mut redacted, event, tokens) {
                // Some redacted values leave nothing behind.
                Err(RedactionFault::Absent) if note::names(&stored, path) => {}
                outcome => outcome.map_err(|fault| refused(path, fault))?,
            }
        }
        if redacted == stored {
            return Ok(event.clone());
        }
        let state = note::changed_state(&stored, &redacted);
        note::add(&mut redacted, &self.paths, &self.reason, self.time_or_now(), state)
            .ok_or_else(|| refused("/custom_metadata", RedactionFault::Fixed))?;
        serde_json::from_value(redacted).map_err(unreadable)
    }
}

/// Redacts a value of an event that was parsed as `event`. Paths into fields that this version does not know are used
/// unchanged.
fn redact(redacted: &mut Value, event: &Event, tokens: Vec<Cow<'_, str>>) -> Result<(), RedactionFault> {
    let is_unknown =
        event.extra().is_some_and(|unknown| tokens.first().is_some_and(|name| unknown.contains_key(&**name)));
    let tokens = if is_unknown { tokens } else { pointer::in_snake_case(tokens) };
    let tokens: Vec<_> = tokens.iter().map(|token| &**token).collect();
    if is_unknown { places::replace(redacted, &tokens) } else { places::redact(redacted, &tokens) }
}

/// Returns `true` if the list of payloads is not empty, or has a form that this crate cannot read.
fn has_payloads(list: &Value) -> bool {
    list.get("taken").and_then(Value::as_array).is_none_or(|taken| !taken.is_empty())
}
