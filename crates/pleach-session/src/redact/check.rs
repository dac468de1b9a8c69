//! What must not change.

use std::sync::Arc;

use pleach_core::{Event, Question, QuestionKind, SessionKey};
use serde_json::Value;

use super::places::redact_everything;
use crate::notes::{PAYLOADS, REDACTIONS};
use crate::{RedactionFault, SessionError, SessionResult, open_questions};

/// Checks that `redacted` differs from the stored event only in values that may be redacted, and in the notes about them.
///
/// # Errors
/// `Redaction`, also when no event with its id is stored.
pub fn check_redacted(key: &SessionKey, stored: Option<&Event>, redacted: &Event) -> SessionResult<()> {
    let refused = |fault| Err(SessionError::redaction(key, redacted.id(), "", fault));
    let Some(stored) = stored else { return refused(RedactionFault::UnknownEvent) };
    let fixed = |event: &Event| {
        let mut event = serde_json::to_value(event).ok()?;
        redact_everything(&mut event);
        drop_notes(&mut event);
        Some(event)
    };
    match fixed(stored) {
        Some(stored) if fixed(redacted).as_ref() == Some(&stored) => Ok(()),
        _ => refused(RedactionFault::Fixed),
    }
}

/// Removes the notes that a redaction writes, and metadata that has nothing else.
fn drop_notes(event: &mut Value) {
    let Some(metadata) = event.get_mut("custom_metadata").and_then(Value::as_object_mut) else { return };
    metadata.remove(REDACTIONS);
    metadata.remove(PAYLOADS);
    if metadata.is_empty() {
        event.as_object_mut().map(|event| event.remove("custom_metadata"));
    }
}

/// Returns whether the same questions are open after a redaction.
pub(super) fn keeps_questions(events: &[Arc<Event>], place: usize, redacted: &Event) -> bool {
    let mut after = events.to_vec();
    after[place] = Arc::new(redacted.clone());
    asked(events) == asked(&after)
}

/// Returns the open questions without what a redaction may remove from them.
fn asked(events: &[Arc<Event>]) -> Vec<Question> {
    let mut questions = open_questions(events);
    for question in &mut questions {
        question.message.clear();
        match (question.kind, &mut question.payload) {
            // The engine calls the tool with the other arguments.
            (QuestionKind::Confirmation, Some(Value::Object(payload))) => drop(payload.remove("toolConfirmation")),
            (QuestionKind::Confirmation, _) => {}
            _ => question.payload = None,
        }
    }
    questions
}
