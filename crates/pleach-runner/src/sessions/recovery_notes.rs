//! The note with which a recovery resumes an invocation, and the count of recoveries without progress.
//!
//! The note is an event of the user without content, so that no model reads it.

use std::sync::Arc;

use pleach_core::{Event, InvocationId};
use pleach_session::notes::{RECOVERY, is_run_note};
use serde_json::json;

use crate::sessions::run_end_notes::{is_end_note, note};

/// Makes the event with which a recovery resumes an invocation, for the `attempt`-th time since it made progress.
pub(crate) fn recovery(invocation: &InvocationId, attempt: u32) -> Event {
    note(invocation, RECOVERY, json!({ "attempt": attempt }))
}

/// Returns how many recoveries of an invocation have ended without a trace since it made progress: since a node sent an event, or a
/// person or a program did something. A recovery that was cut off has left a note. `own` are the events of the invocation.
pub(crate) fn recoveries(own: &[&Arc<Event>]) -> u32 {
    let idle = own.iter().rev().take_while(|event| is_run_note(event));
    let mut count = 0;
    let mut has_note = false;
    for event in idle {
        if is_recovery(event) && !has_note {
            count += 1;
        }
        has_note = is_end_note(event);
    }
    count
}

fn is_recovery(event: &Event) -> bool {
    event.is_from_user() && event.custom_metadata().is_some_and(|notes| notes.contains_key(RECOVERY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::run_end_notes::{NotedEnd, end_note};

    /// Reads a log of letters: `r` is a recovery, `c` a run that was cut off, `n` an event of a node, `m` a message.
    fn count(log: &str) -> u32 {
        let id = InvocationId::from("i");
        let event = |letter: char| match letter {
            'r' => recovery(&id, 1),
            'c' => end_note(&id, &NotedEnd::Cut),
            'm' => Event::from_author("user").with_message("hello"),
            _ => Event::from_author("node"),
        };
        let events: Vec<Arc<Event>> = log.chars().map(|letter| Arc::new(event(letter))).collect();
        recoveries(&events.iter().collect::<Vec<_>>())
    }

    #[test]
    fn recoveries_are_counted_since_the_last_progress() {
        for (log, expected) in [
            ("", 0),
            ("m", 0),
            ("mn", 0),
            ("mr", 1),
            ("mrc", 0),
            ("mrcr", 1),
            ("mrrc", 1),
            ("mrrn", 0),
            ("mrnrrr", 3),
            ("rrm", 0),
        ] {
            assert_eq!(count(log), expected, "{log}");
        }
    }
}
