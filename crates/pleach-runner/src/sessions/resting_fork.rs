//! Resting forks: the note on their copied events, and the event that ends the rest.

use std::sync::Arc;

use pleach_core::{Event, InvocationId, Map, Session, SessionId};
use pleach_session::{FORK_CONTINUED, FORKED_FROM};
use serde_json::Value;

/// Notes the source session on an event of a copy.
pub(crate) fn note_source(event: &mut Arc<Event>, source: &SessionId) {
    let event = Arc::make_mut(event);
    let mut notes = event.custom_metadata().cloned().unwrap_or_default();
    notes.insert(FORKED_FROM.to_owned(), Value::from(source.as_str()));
    event.set_custom_metadata(Some(notes));
}

/// Returns the source of a copy that rests: since the copy was made, nothing was stored in it.
pub(crate) fn resting_source(session: &Session) -> Option<SessionId> {
    let source = |event: &Event| Some(SessionId::from(event.custom_metadata()?.get(FORKED_FROM)?.as_str()?));
    let last = session.events.last().and_then(|last| source(last))?;
    // All events are checked, because another program may store an event with an earlier time than the copied ones,
    // which is then not the last.
    session.events.iter().all(|event| source(event).is_some()).then_some(last)
}

/// Makes the event that ends the rest of a copy. It is stored if a resume stores nothing else.
pub(crate) fn continued(invocation: &InvocationId) -> Event {
    let notes = Map::from_iter([(FORK_CONTINUED.to_owned(), Value::Bool(true))]);
    let mut event = Event::from_author("user").with_custom_metadata(notes);
    event.set_invocation_id(invocation.clone());
    event
}
