//! What must not change.

use std::sync::Arc;

use pleach_core::{Event, Map, Question, QuestionKind, SessionKey};
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

/// Returns whether the same questions are open after a redaction, and whether calls that need permission are still those that were
/// asked about, and decided in the same way.
pub(super) fn keeps_questions(events: &[Arc<Event>], place: usize, redacted: &Event) -> bool {
    let mut after = events.to_vec();
    after[place] = Arc::new(redacted.clone());
    let decisive = |events: &[Arc<Event>]| {
        let open = open_questions(events);
        (waiting_arguments(events, &open), permissions(events), asked(open))
    };
    decisive(events) == decisive(&after)
}

/// Returns the open questions without what a redaction may remove from them.
fn asked(mut questions: Vec<Question>) -> Vec<Question> {
    for question in &mut questions {
        question.message.clear();
        match (question.kind, &mut question.payload) {
            (QuestionKind::Confirmation, Some(Value::Object(payload))) => drop(payload.remove("toolConfirmation")),
            (QuestionKind::Confirmation, _) => {}
            _ => question.payload = None,
        }
    }
    questions
}

/// Returns the arguments of the model's calls that wait for permission: the tools are called with them.
fn waiting_arguments(events: &[Arc<Event>], open: &[Question]) -> Vec<Option<Map>> {
    let original = |question: &Question| {
        question.payload.as_ref()?.pointer("/originalFunctionCall/id")?.as_str().map(str::to_owned)
    };
    let ids: Vec<_> = open.iter().filter_map(original).collect();
    let calls = events.iter().flat_map(|event| event.function_calls());
    let waiting = calls.filter(|call| call.id.as_ref().is_some_and(|id| ids.contains(id)));
    waiting.map(|call| call.args.clone()).collect()
}

/// Returns the answers to requests for permission, without what is only shown.
fn permissions(events: &[Arc<Event>]) -> Vec<Map> {
    let questions = events.iter().flat_map(|event| event.questions());
    let requests = questions.filter(|question| question.kind == QuestionKind::Confirmation);
    let ids: Vec<String> = requests.map(|question| question.id).collect();
    let responses = events.iter().flat_map(|event| event.function_responses());
    let answers = responses.filter(|response| response.id.as_ref().is_some_and(|id| ids.contains(id)));
    let decided = answers.filter_map(|answer| answer.response.clone());
    decided
        .map(|mut response| {
            response.retain(|field, _| !matches!(field.as_str(), "hint" | "payload"));
            response
        })
        .collect()
}
