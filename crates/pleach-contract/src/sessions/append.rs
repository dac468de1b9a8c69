//! Appending events, and the values that stored events keep.
// S34, S41–S49

use std::sync::Arc;

use pleach_core::{Content, Event, Part};
use pleach_session::{SessionError, SessionService, SessionServiceExt as _};
use serde_json::json;

use super::{CREATED, created, event, ids, key, loaded, object};

/// Partial events are not stored, nor are their `temp:` keys.
pub async fn case_17_a_partial_event_changes_nothing(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({"a": 1})).await;
    let before = session.clone();
    let partial = event("e1", 1.0).with_state("a", 2).with_state("temp:t", 1).with_partial(true);
    let returned = service.append_event(&mut session, partial.clone()).await.unwrap();
    assert_eq!(*returned, partial);
    let returned = service.append(&mut session.head, Arc::new(partial.clone())).await.unwrap();
    assert_eq!(*returned, partial);
    assert_eq!(session, before);
    assert_eq!(loaded(service, &key("s")).await, before);
}

/// The same holds if the session never existed.
pub async fn case_35_appending_to_a_deleted_session_is_not_found(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    service.delete_session(&key("s")).await.unwrap();
    let before = session.clone();
    let error = service.append_event(&mut session, event("e1", 1.0).with_state("user:x", 1)).await;
    let error = error.unwrap_err();
    assert!(matches!(&error, SessionError::NotFound(gone) if *gone == key("s")), "{error}");
    assert_eq!(error.code(), "SessionNotFoundError");
    assert_eq!(session, before);
    assert!(service.user_state(&"app".into(), &"user".into()).await.unwrap().is_empty());
}

/// An equal event is "already stored", not an error.
// S34
pub async fn case_36_the_same_event_twice_is_stored_once(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({"n": 0})).await;
    let first = event("e1", 1.0).with_state("n", 1);
    service.append_event(&mut session, first.clone()).await.unwrap();
    service.append_event(&mut session, first.clone()).await.unwrap();
    let second = event("e2", 2.0).with_state("n", 2);
    service.append_event(&mut session, second).await.unwrap();
    service.append_event(&mut session, first).await.unwrap();
    assert_eq!(ids(&session), ["e1", "e2"]);
    assert_eq!(loaded(service, &key("s")).await, session);
    service.append_event(&mut session, event("e3", 3.0)).await.unwrap();
    assert_eq!(ids(&loaded(service, &key("s")).await), ["e1", "e2", "e3"]);
    assert_eq!(session.state, object(json!({"n": 2})));
}

/// Neither the stored session nor the object changes.
pub async fn case_37_another_event_with_a_taken_id_is_refused(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    let before = session.clone();
    let other = event("e1", 2.0).with_state("app:x", 1);
    let error = service.append_event(&mut session, other).await.unwrap_err();
    assert!(matches!(&error, SessionError::EventAlreadyExists { event, .. } if *event == "e1"), "{error}");
    assert_eq!(session, before);
    assert_eq!(loaded(service, &key("s")).await, before);
}

/// The empty text is stored unchanged.
pub async fn case_38_an_event_may_lack_an_invocation(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    let mut bare = event("e1", 1.0);
    bare.set_invocation_id("");
    service.append_event(&mut session, bare.clone()).await.unwrap();
    assert_eq!(*loaded(service, &key("s")).await.events[0], bare);
}

/// Times finer than a microsecond, before 1970 and far beyond any calendar are kept; only NaN and infinity are refused.
pub async fn case_49_51_54_any_finite_time_is_kept_exactly(service: &dyn SessionService) {
    let times = [1_760_000_000.123_456_7, 1_760_000_000.999_999_6, -1.5, 0.0, 7_258_118_400.0, -62_135_596_800.0, 1e12];
    for (number, time) in times.into_iter().enumerate() {
        let key = key(&format!("s{number}"));
        let mut session = created(service, &key, json!({})).await;
        let mut event = event("e1", 0.0);
        event.set_timestamp(time);
        service.append_event(&mut session, event).await.unwrap();
        let back = loaded(service, &key).await;
        assert_eq!((back.events[0].timestamp(), back.last_update_time()), (time, time));
        assert_eq!(back, session);
    }
    let mut session = loaded(service, &key("s0")).await;
    let mut event = event("e2", 0.0);
    event.set_timestamp(f64::NAN);
    let error = service.append_event(&mut session, event).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unstorable { field, .. } if field == "timestamp"), "{error}");
}

/// All 256 byte values.
pub async fn case_55_all_bytes_survive(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    let bytes: Vec<u8> = (0..=255).collect();
    let content = Content::new("user", [Part::bytes("application/octet-stream", bytes)]);
    let event = event("e1", 1.0).with_content(content);
    let event = service.append_event(&mut session, event).await.unwrap();
    assert_eq!(session.events, [event]);
    assert_eq!(loaded(service, &key("s")).await.events, session.events);
}

/// The error names the field; neither the event nor its other state is stored.
pub async fn case_62_append_refuses_nul_and_stores_nothing(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    let before = session.clone();
    let delta = event("e1", 1.0).with_state("user:x", 1).with_state("bad", "a\u{0}b");
    let error = service.append_event(&mut session, delta).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unstorable { field, .. } if field == "actions.state_delta.bad"), "{error}");
    let text = event("e2", 1.0).with_message("a\u{0}");
    assert!(service.append_event(&mut session, text).await.is_err());
    assert_eq!(session, before);
    assert_eq!(loaded(service, &key("s")).await, before);
}

/// Real documents of google-adk, with every kind of field.
pub async fn s41_golden_events_come_back_equal(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    for (number, line) in include_str!("events.jsonl").lines().enumerate() {
        let mut event: Event = serde_json::from_str(line).unwrap();
        // The documents come from several sessions; with their own times they would be reordered.
        event.set_timestamp(CREATED + 1.0 + number as f64);
        service.append_event(&mut session, event).await.unwrap();
    }
    let back = loaded(service, &key("s")).await;
    assert_eq!(back.events.len(), session.events.len());
    for (back, sent) in back.events.iter().zip(&session.events) {
        assert_eq!(back, sent);
        assert_eq!(serde_json::to_string(&**back).unwrap(), serde_json::to_string(&**sent).unwrap());
    }
    assert_eq!(back.state, session.state);
}

/// Unlike in google-adk, `temp:` keys are applied only on success.
pub async fn s14_a_failed_append_leaves_the_object_alone(service: &dyn SessionService) {
    let mut ours = created(service, &key("s"), json!({})).await;
    let mut theirs = ours.clone();
    service.append_event(&mut theirs, event("e1", 1.0)).await.unwrap();
    let before = ours.clone();
    let event = event("e2", 2.0).with_state("temp:t", 1).with_state("k", 1);
    assert!(service.append_event(&mut ours, event).await.is_err());
    assert_eq!(ours, before);
}
