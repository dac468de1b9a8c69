//! Notes of settled sessions: a listing for a program leaves such sessions out until they change.

use std::sync::Arc;

use pleach_core::SessionHead;
use pleach_session::{ListSessions, Redaction, SessionService, SessionServiceExt as _};
use serde_json::json;

use super::{CREATED, asks, created, event, key, loaded};

/// Returns the sessions of the app that a program has not noted, read in pages of two.
async fn unsettled(service: &dyn SessionService, program: &str) -> Vec<String> {
    let mut request = ListSessions::new("app").unsettled_for(program).with_limit(2);
    let mut ids = Vec::new();
    loop {
        let page = service.list_sessions(request.clone()).await.unwrap();
        assert!(page.faults.is_empty(), "{:?}", page.faults);
        assert!(page.sessions.len() == 2 || page.next.is_none(), "a page is full while there are more");
        ids.extend(page.sessions.iter().map(|session| session.id().to_string()));
        let Some(next) = page.next else { return ids };
        request = request.with_after(next);
    }
}

async fn heads(service: &dyn SessionService, ids: &[&str]) -> Vec<SessionHead> {
    let mut heads = Vec::new();
    for id in ids {
        heads.push(loaded(service, &key(id)).await.head);
    }
    heads
}

/// Other sessions, the state and other listings are unchanged.
pub async fn settled_sessions_are_left_out_for_their_program(service: &dyn SessionService) {
    for (number, id) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        let mut session = created(service, &key(id), json!({"k": id})).await;
        service.append_event(&mut session, event("e1", 1.0 + number as f64)).await.unwrap();
    }
    assert_eq!(unsettled(service, "v1").await, ["a", "b", "c", "d", "e"], "nothing was noted yet");
    service.note_settled("v1", &[]).await.unwrap();
    service.note_settled("v1", &heads(service, &["a", "c", "d"]).await).await.unwrap();
    assert_eq!(unsettled(service, "v1").await, ["b", "e"]);
    assert_eq!(unsettled(service, "v2").await, ["a", "b", "c", "d", "e"]);
    let all = service.list_sessions(ListSessions::new("app")).await.unwrap();
    assert_eq!((all.sessions.len(), all.sessions[0].state["k"].as_str()), (5, Some("a")));
    let of_user = ListSessions::new("app").with_user("user").unsettled_for("v1").without_state();
    assert_eq!(service.list_sessions(of_user).await.unwrap().sessions.len(), 2);
    let of_other = ListSessions::new("app").with_user("nobody").unsettled_for("v1");
    assert!(service.list_sessions(of_other).await.unwrap().sessions.is_empty());
    service.note_settled("v1", &heads(service, &["b", "e"]).await).await.unwrap();
    assert!(unsettled(service, "v1").await.is_empty());
}

/// A change can be an event, even with the same or an earlier time, a claim, or a redaction.
pub async fn a_settled_session_that_changes_is_listed_again(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    let same = |number: usize| event(&format!("same{number}"), 1.0);
    for number in 0..3 {
        service.append_event(&mut session, same(number)).await.unwrap();
        assert_eq!(unsettled(service, "v1").await, ["s"], "an event of the same time");
        service.note_settled("v1", std::slice::from_ref(&session.head)).await.unwrap();
        assert!(unsettled(service, "v1").await.is_empty());
    }
    service.append_event(&mut session, event("earlier", -5.0)).await.unwrap();
    assert_eq!(unsettled(service, "v1").await, ["s"]);
    service.note_settled("v1", std::slice::from_ref(&session.head)).await.unwrap();
    for time in [CREATED + 9.0, CREATED + 9.0] {
        service.claim(&mut session.head, time).await.unwrap();
        assert_eq!(unsettled(service, "v1").await, ["s"], "a claim");
        service.note_settled("v1", std::slice::from_ref(&session.head)).await.unwrap();
        assert!(unsettled(service, "v1").await.is_empty());
    }
    let redaction = Redaction::new(["/content/parts/0/text"], "a customer's request").with_time(CREATED + 20.0);
    service.redact(&key("s"), &"same1".into(), &redaction).await.unwrap();
    assert_eq!(unsettled(service, "v1").await, ["s"], "a redaction");
}

/// The session has changed, or was deleted, between the look and the note.
pub async fn a_note_of_another_revision_has_no_effect(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    let before = session.head.clone();
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    service.note_settled("v1", std::slice::from_ref(&before)).await.unwrap();
    assert_eq!(unsettled(service, "v1").await, ["s"]);
    service.note_settled("v1", &[session.head.clone(), before.clone()]).await.unwrap();
    assert!(unsettled(service, "v1").await.is_empty(), "an older head removes no note");
    let gone = SessionHead::new(key("gone"), session.revision(), CREATED);
    let odd = SessionHead::new(key("with\u{0}nul"), session.revision(), CREATED);
    service.note_settled("v1", &[gone, odd]).await.unwrap();
    assert!(unsettled(service, "v1").await.is_empty());
}

/// The id is used again, with the same times.
pub async fn notes_of_a_deleted_session_are_gone(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    service.note_settled("v1", std::slice::from_ref(&session.head)).await.unwrap();
    assert!(unsettled(service, "v1").await.is_empty());
    service.delete_session(&key("s")).await.unwrap();
    assert!(unsettled(service, "v1").await.is_empty());
    let mut again = created(service, &key("s"), json!({})).await;
    assert_eq!(unsettled(service, "v1").await, ["s"]);
    service.append_event(&mut again, asks("e2", 1.0, "q", None)).await.unwrap();
    assert_eq!(unsettled(service, "v1").await, ["s"]);
}

/// While a new version of a program replaces an old one, both note the same sessions. Notes of the third to last
/// program are dropped.
pub async fn notes_of_two_programs_coexist(service: &dyn SessionService) {
    let session = created(service, &key("s"), json!({})).await;
    let note = async |program: &str| {
        service.note_settled(program, std::slice::from_ref(&session.head)).await.unwrap();
    };
    let settled = async |program: &str| unsettled(service, program).await.is_empty();
    for _ in 0..2 {
        note("v1").await;
        note("v2").await;
        assert!(settled("v1").await && settled("v2").await);
    }
    note("v3").await;
    assert!(settled("v2").await && settled("v3").await && !settled("v1").await);
    note("v1").await;
    assert!(settled("v1").await && settled("v3").await && !settled("v2").await);
}

/// With concurrent notes and appends, the last event is never hidden.
pub async fn notes_during_appends_hide_no_event(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    for number in 0..20 {
        let seen = [session.head.clone()];
        let event = Arc::new(event(&format!("e{number}"), f64::from(number)));
        let (noted, appended) =
            tokio::join!(service.note_settled("v1", &seen), service.append(&mut session.head, event));
        noted.unwrap();
        appended.unwrap();
        assert_eq!(unsettled(service, "v1").await, ["s"], "event {number}");
    }
}
