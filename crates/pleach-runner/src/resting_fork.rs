//! A fork rests until it is continued: the note on its copied events, and whether anything has come behind them.

use std::sync::Arc;

use pleach_core::{Event, Session, SessionId, micros};
use pleach_session::FORKED_FROM;
use serde_json::Value;

/// Notes on an event of a copy which session it is a copy of.
pub(crate) fn note_source(event: &mut Arc<Event>, source: &SessionId) {
    let event = Arc::make_mut(event);
    let mut notes = event.custom_metadata().cloned().unwrap_or_default();
    notes.insert(FORKED_FROM.to_owned(), Value::from(source.as_str()));
    event.set_custom_metadata(Some(notes));
}

/// Returns the session that this one is a copy of, if it rests: nothing was stored in it since, and no run has claimed it.
pub(crate) fn resting_source(session: &Session) -> Option<SessionId> {
    let last = session.events.last()?;
    let source = last.custom_metadata()?.get(FORKED_FROM)?.as_str()?;
    let claimed = micros(session.last_update_time()) > micros(last.timestamp());
    (!claimed).then(|| SessionId::from(source))
}
