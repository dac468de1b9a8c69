//! The note of how a run ended. A Runner with heartbeats stores it if the log does not show the end otherwise, so that other processes
//! need not wait for the heartbeats of a run that has ended.
//!
//! The note is an event of the user without content, so that no model reads it.

use std::sync::Arc;

use pleach_core::{Event, InvocationId, Map};
use pleach_session::notes::RUN_ENDED;
use serde_json::Value;

/// How a run ended, as its note says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotedEnd {
    /// The invocation is done.
    Done,
    /// The invocation waits for answers.
    Waiting,
    /// No process works on the invocation: it has failed or was cut off.
    Stopped,
}

impl NotedEnd {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Waiting => "waiting",
            Self::Stopped => "stopped",
        }
    }
}

/// Makes the note of how a run of an invocation ended.
pub(crate) fn end_note(invocation: &InvocationId, end: NotedEnd) -> Event {
    note(invocation, RUN_ENDED, Value::from(end.as_str()))
}

/// Makes an event of the user without content, which has only this note.
pub(crate) fn note(invocation: &InvocationId, key: &str, value: Value) -> Event {
    let mut event = Event::from_author("user").with_custom_metadata(Map::from_iter([(key.to_owned(), value)]));
    event.set_invocation_id(invocation.clone());
    event
}

/// Returns `true` if the event is the note of how a run ended.
pub(crate) fn is_end_note(event: &Event) -> bool {
    read(event).is_some()
}

/// Returns how the last run of a session ended, if a note says so and nothing happened since. A run may add a summary after its note.
pub(crate) fn noted_end(events: &[Arc<Event>]) -> Option<NotedEnd> {
    let last = events.iter().rev().find(|event| event.actions().compaction().is_none())?;
    read(last)
}

/// Returns `true` if a note says that an invocation is done, and only signals were kept since. `own` are the events of the invocation.
pub(crate) fn is_noted_done(own: &[&Arc<Event>]) -> bool {
    let last = own.iter().rev().find(|event| event.kept_signal().is_none());
    last.is_some_and(|last| read(last) == Some(NotedEnd::Done))
}

/// Reads the note of an event. An unknown end is read as `Stopped`, which promises less.
fn read(event: &Event) -> Option<NotedEnd> {
    let end = event.custom_metadata()?.get(RUN_ENDED).filter(|_| event.is_from_user())?;
    let known = [NotedEnd::Done, NotedEnd::Waiting].into_iter().find(|known| *end == known.as_str());
    Some(known.unwrap_or(NotedEnd::Stopped))
}

#[cfg(test)]
mod tests {
    use pleach_core::{Content, EventCompaction};

    use super::*;

    fn log(words: &str) -> Vec<Arc<Event>> {
        let id = InvocationId::from("i");
        let event = |word: &str| match word {
            "done" => end_note(&id, NotedEnd::Done),
            "waiting" => end_note(&id, NotedEnd::Waiting),
            "stopped" => end_note(&id, NotedEnd::Stopped),
            "later" => note(&id, RUN_ENDED, Value::from("a word of a later version")),
            "summary" => {
                let mut event = Event::from_author("user");
                event.actions_mut().set_compaction(Some(EventCompaction {
                    start_timestamp: 1.0,
                    end_timestamp: 2.0,
                    compacted_content: Content::model("summary"),
                }));
                event
            }
            _ => Event::from_author("node"),
        };
        words.split_whitespace().map(|word| Arc::new(event(word))).collect()
    }

    #[test]
    fn the_note_counts_until_something_else_happens_in_the_session() {
        for (words, expected) in [
            ("", None),
            ("event", None),
            ("event done", Some(NotedEnd::Done)),
            ("event waiting", Some(NotedEnd::Waiting)),
            ("event stopped", Some(NotedEnd::Stopped)),
            ("event later", Some(NotedEnd::Stopped)),
            ("event done summary", Some(NotedEnd::Done)),
            ("event done event", None),
        ] {
            assert_eq!(noted_end(&log(words)), expected, "{words}");
        }
    }

    #[test]
    fn an_invocation_is_noted_as_done_by_its_own_last_event() {
        for (words, expected) in
            [("event", false), ("event stopped", false), ("event done", true), ("done event", false)]
        {
            let events = log(words);
            assert_eq!(is_noted_done(&events.iter().collect::<Vec<_>>()), expected, "{words}");
        }
    }
}
