//! Stale writers and repeated appends.
// S35, S34

use std::sync::Arc;

use pleach_core::{Revision, SessionHead, SessionKey};
use pleach_session::{
    CreateSession, GetSessionConfig, ListSessions, SessionError, SessionService, SessionServiceExt as _,
};
use serde_json::json;

use super::{CREATED, created, event, ids, key, loaded};

/// The refused writer sees both revisions and keeps its copy; no part of its event is stored.
pub async fn case_29_the_second_writer_is_stale(service: &dyn SessionService) {
    let mut first = created(service, &key("s"), json!({})).await;
    let mut second = loaded(service, &key("s")).await;
    service.append_event(&mut first, event("e1", 1.0)).await.unwrap();
    let before = second.clone();
    let late = event("e2", 2.0).with_state("app:x", 1).with_state("k", 1);
    let error = service.append_event(&mut second, late.clone()).await.unwrap_err();
    let SessionError::Stale { key: stale, stored, ours } = &error else { panic!("{error}") };
    assert_eq!((stale, *stored, *ours), (&key("s"), first.revision(), before.revision()));
    assert_eq!(error.code(), "StaleSessionError");
    assert_eq!(second, before);
    assert_eq!(loaded(service, &key("s")).await, first);
    let mut again = loaded(service, &key("s")).await;
    service.append_event(&mut again, late).await.unwrap();
    assert_eq!(ids(&loaded(service, &key("s")).await), ["e1", "e2"]);
}

/// The other writer's event has the loaded session's time, or an older one. google-adk's check misses this case.
pub async fn case_30_31_equal_and_older_times_do_not_hide_a_writer(service: &dyn SessionService) {
    for (number, time) in [0.0, -10.0].into_iter().enumerate() {
        let key = key(&format!("s{number}"));
        let mut first = created(service, &key, json!({})).await;
        let mut second = loaded(service, &key).await;
        service.append_event(&mut first, event("e1", time)).await.unwrap();
        let error = service.append_event(&mut second, event("e2", 1.0)).await.unwrap_err();
        assert!(error.is_stale(), "{error}");
        let mut second = loaded(service, &key).await;
        service.append_event(&mut first, event("e3", time)).await.unwrap();
        let error = service.append_event(&mut second, event("e4", 1.0)).await.unwrap_err();
        assert!(error.is_stale(), "{error}");
    }
}

/// Several events in one microsecond, or even closer together: each revision is later than the previous one.
pub async fn s35_a_clock_that_does_not_move_moves_the_revision_on(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    for (number, time) in [0.0, 0.0, 0.000_000_3, 1.0, 1.000_000_25, 1.000_000_25, 1.000_001].into_iter().enumerate() {
        let before = session.revision();
        service.append_event(&mut session, event(&format!("e{number}"), time)).await.unwrap();
        assert!(session.revision() > before, "{} is not after {before}", session.revision());
        assert_eq!(session.events.len(), number + 1);
        assert_eq!(loaded(service, &key("s")).await.revision(), session.revision());
    }
}

/// Times go back and forth; every revision is new, and each append succeeds.
pub async fn s35_times_that_return_do_not_repeat_a_revision(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    let mut seen = vec![session.revision()];
    for (number, time) in [3.0, 1.0, 3.0, 2.0, 3.0, 0.0, 1.0, 0.0, 0.0].into_iter().enumerate() {
        service.append_event(&mut session, event(&format!("e{number}"), time)).await.unwrap();
        assert!(!seen.contains(&session.revision()), "{} in {seen:?}", session.revision());
        seen.push(session.revision());
        let back = loaded(service, &key("s")).await;
        assert_eq!((back.revision(), back.last_update_time()), (session.revision(), CREATED + time));
    }
    let stored = loaded(service, &key("s")).await.events.len();
    assert_eq!(stored, seen.len() - 1);
}

/// A head of the deleted session is not valid for its successor.
pub async fn s33_a_session_made_again_refuses_old_heads(service: &dyn SessionService) {
    let mut old = created(service, &key("s"), json!({})).await;
    service.delete_session(&key("s")).await.unwrap();
    let request = CreateSession::new("app", "user").with_session_id("s").with_create_time(CREATED + 1.0);
    service.create_session(request).await.unwrap();
    let error = service.append_event(&mut old, event("e1", 2.0)).await.unwrap_err();
    assert!(error.is_stale(), "{error}");
    assert!(loaded(service, &key("s")).await.events.is_empty());
}

/// Appending the same event again after the same head finds it stored, even if others have appended since.
pub async fn s34_a_lost_answer_can_be_asked_for_again(service: &dyn SessionService) {
    let session = created(service, &key("s"), json!({})).await;
    let sent = Arc::new(event("e1", 1.0));
    let mut lost = session.head.clone();
    service.append(&mut lost, sent.clone()).await.unwrap();
    let mut again = session.head.clone();
    let stored = service.append(&mut again, sent.clone()).await.unwrap();
    assert_eq!((stored, again.revision()), (sent.clone(), lost.revision()));
    service.append(&mut again, Arc::new(event("e2", 2.0))).await.unwrap();
    let mut third = session.head.clone();
    service.append(&mut third, sent).await.unwrap();
    assert_eq!(third.revision(), lost.revision());
    let error = service.append(&mut third, Arc::new(event("e3", 3.0))).await.unwrap_err();
    assert!(error.is_stale(), "{error}");
    assert_eq!(ids(&loaded(service, &key("s")).await), ["e1", "e2"]);
}

/// The order of the appends decides what a caller has seen, even if the times of events decrease.
pub async fn s34_a_repeated_append_is_known_by_its_place_not_by_its_time(service: &dyn SessionService) {
    // The reply for an event with a time before the session's own was lost.
    let mut session = created(service, &key("lost"), json!({})).await;
    let early = event("e1", -5.0).with_state("k", 1);
    service.append(&mut session.head.clone(), Arc::new(early.clone())).await.unwrap();
    service.append_event(&mut session, early).await.unwrap();
    assert_eq!(session, loaded(service, &key("lost")).await);
    service.append_event(&mut session, event("e2", 1.0)).await.unwrap();

    // A caller who has seen everything repeats an event with a later time than the newest.
    let mut writer = created(service, &key("seen"), json!({})).await;
    let late = event("e1", 3.0).with_state("k", "old");
    service.append_event(&mut writer, late.clone()).await.unwrap();
    service.append_event(&mut writer, event("e2", 1.0).with_state("k", "new")).await.unwrap();
    let mut reader = loaded(service, &key("seen")).await;
    let before = reader.clone();
    service.append_event(&mut reader, late).await.unwrap();
    assert_eq!(reader, before);
    service.append_event(&mut reader, event("e3", 4.0)).await.unwrap();
}

/// A session with such a name cannot exist, and asking for one is not a fault of the store.
pub async fn case_62_a_name_with_nul_is_not_found(service: &dyn SessionService) {
    let odd = SessionKey::new("app", "us\u{0}er", "s\u{0}");
    assert_eq!(service.get_session(&odd, GetSessionConfig::all()).await.unwrap(), None);
    assert!(service.list_sessions(ListSessions::new("app").with_user("us\u{0}er")).await.unwrap().sessions.is_empty());
    assert!(service.find_sessions(&"a\u{0}".into(), &"s\u{0}".into()).await.unwrap().is_empty());
    assert!(service.user_state(&"app".into(), &"us\u{0}er".into()).await.unwrap().is_empty());
    service.delete_session(&odd).await.unwrap();
    let mut head = SessionHead::new(odd, Revision::new(0, 0), 0.0);
    assert_eq!(service.events_since(&head).await.unwrap(), None);
    let error = service.append(&mut head, Arc::new(event("e1", 1.0))).await.unwrap_err();
    assert!(matches!(error, SessionError::NotFound(_)), "{error}");
}
