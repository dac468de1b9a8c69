//! Computes the id of the event that answers a question at its deadline, and finds out whether it is stored.

use std::sync::Arc;

use pleach_context::engine::stable_uuid;
use pleach_core::{Event, EventId, Map, SessionKey};
use pleach_session::{BY_DEADLINE, effective_events_of};
use serde_json::Value;

use crate::deadlines::schedule::PendingDeadline;

/// Returns the id of the event that answers the question. Every process computes the same id, so a session cannot store
/// two such events. If a rewind has undone the answer but not the question, the id is a new one.
pub(crate) fn event_id(due: &PendingDeadline, events: &[Arc<Event>]) -> EventId {
    let own = effective_events_of(events, &due.invocation);
    event_id_after(due, rewinds(&own).last())
}

/// Returns `true` if the question with this id in the event `asked` has been answered at its deadline. Such an answer
/// is final: a run may have used it without leaving a trace.
pub(crate) fn has_come(session: &SessionKey, events: &[Arc<Event>], asked: &Event, question: &str) -> bool {
    let questions = asked.questions();
    let Some(due) = questions.iter().find(|one| one.id == question).and_then(|one| PendingDeadline::of(session, one))
    else {
        return false;
    };
    let own = effective_events_of(events, &due.invocation);
    let ids: Vec<EventId> =
        std::iter::once(None).chain(rewinds(&own).map(Some)).map(|rewind| event_id_after(&due, rewind)).collect();
    let answers = |event: &Event| event.function_responses().any(|response| response.id.as_deref() == Some(question));
    // Two proofs are needed: in a copied session the id was computed for the source session, and events of earlier
    // versions have no note.
    own.iter().any(|event| ids.contains(event.id()) || (has_note(event) && answers(event)))
}

/// Notes on an answer that it comes from a deadline and not from a person.
pub(crate) fn note_deadline(event: &mut Event) {
    event.set_custom_metadata(Some(Map::from_iter([(BY_DEADLINE.to_owned(), Value::Bool(true))])));
}

fn has_note(event: &Event) -> bool {
    event.custom_metadata().is_some_and(|notes| notes.contains_key(BY_DEADLINE))
}

/// Returns the ids of the rewinds among the events of an invocation.
fn rewinds<'e>(own: &'e [&'e Arc<Event>]) -> impl Iterator<Item = &'e EventId> {
    own.iter().filter(|event| event.actions().rewind_before_invocation_id().is_some()).map(|event| event.id())
}

fn event_id_after(due: &PendingDeadline, rewind: Option<&EventId>) -> EventId {
    let SessionKey { app_name, user_id, session_id } = &due.session;
    let session = [app_name.as_str(), user_id.as_str(), session_id.as_str()];
    let asked = [due.invocation.as_str(), &due.question, due.path.as_str(), &due.at.to_string()];
    let rewind = rewind.map(ToString::to_string);
    EventId::from(stable_uuid(session.into_iter().chain(asked).chain(rewind.as_deref())))
}
