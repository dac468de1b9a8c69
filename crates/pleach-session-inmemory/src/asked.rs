//! [`AskedLog`]: the newest questions with a deadline.

use std::collections::VecDeque;

use foldhash::HashMap;
use pleach_core::{AppName, Event, SessionKey};
use pleach_session::{InboxItem, LogPlace, NewDeadlines};

/// The number of questions that are kept for each app: more than are asked between two calls. A caller that has fallen
/// further behind lists all questions instead.
const KEPT: usize = 4096;

/// The newest questions with a deadline of each app, in the order they were asked.
#[derive(Debug, Default)]
pub(crate) struct AskedLog {
    apps: HashMap<AppName, AppQuestions>,
}

#[derive(Debug, Default)]
struct AppQuestions {
    /// The number of questions that came before the first one here.
    dropped: usize,
    /// The questions. `None` replaces the questions of a session that was deleted or redacted.
    newest: VecDeque<Option<InboxItem>>,
}

/// The number of an app's questions that a caller has seen, in one service.
struct SeenQuestions {
    service: u64,
    count: usize,
}

impl AskedLog {
    /// Adds the questions of a stored event.
    pub(crate) fn add(&mut self, session: &SessionKey, event: &Event) {
        for item in NewDeadlines::of_event(session, event) {
            let asked = self.apps.entry(session.app_name.clone()).or_default();
            if asked.newest.len() == KEPT {
                asked.newest.pop_front();
                asked.dropped += 1;
            }
            asked.newest.push_back(Some(item));
        }
    }

    /// Removes the questions that a session has asked.
    pub(crate) fn forget(&mut self, session: &SessionKey) {
        let Some(asked) = self.apps.get_mut(&session.app_name) else { return };
        for item in &mut asked.newest {
            item.take_if(|item| item.session == *session);
        }
    }

    /// Returns the questions that were asked after `since`; without it, only the current place. `None` if some of the
    /// questions have been dropped.
    pub(crate) fn since(&self, service: u64, app_name: &AppName, since: Option<&LogPlace>) -> Option<NewDeadlines> {
        let none = AppQuestions::default();
        let AppQuestions { dropped, newest } = self.apps.get(app_name).unwrap_or(&none);
        let count = dropped + newest.len();
        let seen = match since {
            None => count,
            Some(place) => place.get::<SeenQuestions>().filter(|seen| seen.service == service)?.count,
        };
        let items = newest.range(seen.checked_sub(*dropped)?.min(newest.len())..).flatten().cloned().collect();
        Some(NewDeadlines { items, place: LogPlace::new(SeenQuestions { service, count }) })
    }
}

#[cfg(test)]
mod tests {
    use pleach_core::RequestInput;

    use super::*;

    #[test]
    fn a_caller_that_missed_questions_gets_none() {
        let mut log = AskedLog::default();
        let app = AppName::from("a");
        let session = SessionKey::new("a", "u", "s");
        let start = log.since(0, &app, None).unwrap();
        assert!(start.items.is_empty());
        let ask = |log: &mut AskedLog, id: &str| {
            let deadline = std::time::UNIX_EPOCH + std::time::Duration::from_secs(9);
            let ask: RequestInput = RequestInput::ask(id, "?").with_deadline(deadline);
            log.add(&session, &ask.into_event(id));
        };
        (0..KEPT).for_each(|place| ask(&mut log, &place.to_string()));
        let first = log.since(0, &app, Some(&start.place)).unwrap();
        assert_eq!((first.items.len(), first.items[7].question.id.as_str()), (KEPT, "7"));
        ask(&mut log, "last");
        assert!(log.since(0, &app, Some(&start.place)).is_none(), "the first question is gone");
        assert_eq!(log.since(0, &app, Some(&first.place)).unwrap().items[0].question.id, "last");
        assert!(log.since(1, &app, Some(&first.place)).is_none(), "a place of another service");
        log.forget(&session);
        assert!(log.since(0, &app, Some(&first.place)).unwrap().items.is_empty(), "no question of the session is kept");
    }
}
