//! Finding questions with a deadline that were asked since the last look.

use std::time::{Duration, UNIX_EPOCH};

use pleach_core::{AppName, Content, Event, Part, RequestInput, SessionKey};
use pleach_session::{LogPlace, NewDeadlines, SessionService, SessionServiceExt as _};
use serde_json::json;

use super::{CREATED, created, event, key, loaded};

/// An event that asks these questions, each with a deadline an hour later.
fn asks_within(id: &str, after: f64, questions: &[&str]) -> Event {
    let deadline = UNIX_EPOCH + Duration::from_secs_f64(CREATED + after + 3_600.0);
    let mut parts: Vec<Part> = Vec::new();
    for question in questions {
        let request: RequestInput = RequestInput::ask(*question, "?").with_deadline(deadline);
        let asked = request.into_event(*question);
        parts.extend(asked.content().and_then(|content| content.parts.clone()).unwrap_or_default());
    }
    let mut event = Event::from_author("wf").with_content(Content::new("model", parts));
    event = event.with_long_running(questions.iter().copied()).with_node_path("wf@1/ask@1");
    event.set_id(id);
    event.set_invocation_id("inv-1");
    event.set_timestamp(CREATED + after);
    event
}

async fn append(service: &dyn SessionService, key: &SessionKey, event: Event) {
    let mut session = loaded(service, key).await;
    service.append_event(&mut session, event).await.unwrap();
}

/// A process that looks repeatedly.
struct Looks<'s> {
    service: &'s dyn SessionService,
    place: LogPlace,
}

impl<'s> Looks<'s> {
    async fn begin(service: &'s dyn SessionService, after: f64) -> Self {
        let first = service.new_deadlines(&AppName::from("app"), None, CREATED + after).await.unwrap();
        Self { service, place: first.expect("the service knows its log").place }
    }

    /// The sessions and questions that were asked since the last look; `None` if the service does not know.
    async fn look(&mut self, after: f64) -> Option<Vec<String>> {
        let new = self.service.new_deadlines(&AppName::from("app"), Some(&self.place), CREATED + after).await.unwrap();
        let NewDeadlines { items, place } = new?;
        self.place = place;
        let mut found: Vec<String> =
            items.iter().map(|item| format!("{} {}", item.session.session_id, item.question.id)).collect();
        found.sort();
        found.dedup();
        Some(found)
    }
}

fn found(ids: &[&str]) -> Option<Vec<String>> {
    Some(ids.iter().map(ToString::to_string).collect())
}

/// Each deadline is found once, even if another process asked. Questions without a deadline, of other apps, and from
/// before the first look are not found.
pub async fn deadlines_are_found_since_a_look(service: &dyn SessionService) {
    let other = SessionKey::new("other", "user", "s");
    for key in [&key("s"), &key("t"), &other] {
        created(service, key, json!({})).await;
    }
    append(service, &key("s"), event("e1", 1.0)).await;
    append(service, &key("s"), super::asks("e2", 2.0, "patient", None)).await;
    let mut looks = Looks::begin(service, 3.0).await;
    looks.look(4.0).await;
    assert_eq!(looks.look(5.0).await, found(&[]));
    append(service, &key("s"), asks_within("e3", 6.0, &["a"])).await;
    append(service, &other, asks_within("e1", 6.0, &["z"])).await;
    append(service, &key("t"), event("e1", 6.5)).await;
    assert_eq!(looks.look(7.0).await, found(&["s a"]));
    append(service, &key("t"), asks_within("e2", 7.5, &["b", "c"])).await;
    append(service, &key("s"), super::answers("e4", 7.6, "a")).await;
    // The clock of the asking process is slow.
    append(service, &key("s"), asks_within("e5", 7.7 - 20.0, &["d"])).await;
    assert_eq!(looks.look(8.0).await, found(&["s d", "t b", "t c"]));
    for after in [9.0, 50.0, 500.0] {
        assert_eq!(looks.look(after).await, found(&[]));
    }
    append(service, &key("s"), asks_within("e6", 500.5, &["e"])).await;
    assert_eq!(looks.look(1_000.0).await, found(&["s e"]), "a late look misses nothing");
}

/// The newest sessions are deleted and created again between looks.
pub async fn deadlines_are_found_after_sessions_are_deleted(service: &dyn SessionService) {
    created(service, &key("s"), json!({})).await;
    append(service, &key("s"), event("e1", 1.0)).await;
    let mut looks = Looks::begin(service, 1.0).await;
    for round in 0..40 {
        let after = 2.0 + 2.0 * f64::from(round);
        created(service, &key("t"), json!({})).await;
        append(service, &key("t"), event(&format!("t{round}"), after)).await;
        assert_eq!(looks.look(after).await, found(&[]));
        service.delete_session(&key("t")).await.unwrap();
        // In SQLite the event gets the number of the deleted row.
        append(service, &key("s"), asks_within(&format!("e2-{round}"), after, &[&format!("q{round}")])).await;
        assert_eq!(looks.look(after + 1.0).await, found(&[&format!("s q{round}")]), "round {round}");
    }
}
