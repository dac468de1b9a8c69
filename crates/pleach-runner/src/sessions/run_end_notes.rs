//! The note of how a run ended. A Runner with heartbeats stores it if the log does not show the end otherwise, so that other processes
//! need not wait for the heartbeats of a run that has ended.
//!
//! The note is an event of the user without content, so that no model reads it.

use std::sync::Arc;

use pleach_core::{Event, InvocationId, Map};
use pleach_session::notes::RUN_ENDED;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How a run ended, as its note says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NotedEnd {
    /// The invocation is done.
    Done,
    /// The invocation waits for answers.
    Waiting,
    /// The run was cut off, and can be resumed.
    Cut,
    /// The run has failed.
    Failed { code: String, message: String },
}

/// Makes the note of how a run of an invocation ended.
pub(crate) fn end_note(invocation: &InvocationId, end: &NotedEnd) -> Event {
    note(invocation, RUN_ENDED, json!(end))
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

/// Returns how the last run of a session ended, if a note says so and no run has begun since. A run may add a summary after its note.
pub(crate) fn noted_end(events: &[Arc<Event>]) -> Option<NotedEnd> {
    let is_beside = |event: &Event| event.actions().compaction().is_some() || event.kept_signal().is_some();
    events.iter().rev().find(|event| !is_beside(event)).and_then(|last| read(last))
}

/// Returns `true` if a note says that an invocation is done, and only signals were kept since. `own` are the events of the invocation.
pub(crate) fn is_noted_done(own: &[&Arc<Event>]) -> bool {
    let last = own.iter().rev().find(|event| event.kept_signal().is_none());
    last.is_some_and(|last| read(last) == Some(NotedEnd::Done))
}

/// Reads the note of an event. An unknown end is read as `Cut`, which promises less.
fn read(event: &Event) -> Option<NotedEnd> {
    let end = event.custom_metadata()?.get(RUN_ENDED).filter(|_| event.is_from_user())?;
    Some(NotedEnd::deserialize(end).unwrap_or(NotedEnd::Cut))
}

#[cfg(test)]
mod tests {
    use pleach_core::{Content, EventCompaction};

    use super::*;

    fn failed() -> NotedEnd {
        NotedEnd::Failed { code: "ValueError".to_owned(), message: "no".to_owned() }
    }

    fn log(words: &str) -> Vec<Arc<Event>> {
        let id = InvocationId::from("i");
        let event = |word: &str| match word {
            "done" => end_note(&id, &NotedEnd::Done),
            "waiting" => end_note(&id, &NotedEnd::Waiting),
            "cut" => end_note(&id, &NotedEnd::Cut),
            "failed" => end_note(&id, &failed()),
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
            ("event cut", Some(NotedEnd::Cut)),
            ("event failed", Some(failed())),
            ("event later", Some(NotedEnd::Cut)),
            ("event done summary", Some(NotedEnd::Done)),
            ("event done event", None),
        ] {
            assert_eq!(noted_end(&log(words)), expected, "{words}");
        }
    }

    #[test]
    fn an_invocation_is_noted_as_done_by_its_own_last_event() {
        for (words, expected) in [("event", false), ("event cut", false), ("event done", true), ("done event", false)] {
            let events = log(words);
            assert_eq!(is_noted_done(&events.iter().collect::<Vec<_>>()), expected, "{words}");
        }
    }
}
