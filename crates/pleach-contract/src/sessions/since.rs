//! Reading what is new since a revision, and functions built on that.

use futures_util::future::join_all;
use pleach_core::{Session, SessionHead};
use pleach_session::{CreateSession, GetSessionConfig, SessionError, SessionService, SessionServiceExt as _, Since};
use serde_json::json;

use super::{CREATED, created, event, ids, key, loaded, object};

async fn since(service: &dyn SessionService, head: &SessionHead) -> Session {
    match service.events_since(head).await.unwrap() {
        Some(Since::Events(session)) => session,
        other => panic!("{other:?}"),
    }
}

/// The events may have later, earlier or equal times.
pub async fn events_since_a_revision_were_appended_after_it(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({"k": 0})).await;
    let mut heads = vec![session.head.clone()];
    for (number, time) in [3.0, 1.0, 1.0, 2.0, 1.0, 3.0, 4.0].into_iter().enumerate() {
        let event = event(&format!("e{number}"), time).with_state("k", number + 1);
        service.append_event(&mut session, event).await.unwrap();
        heads.push(session.head.clone());
    }
    for (known, head) in heads.iter().enumerate() {
        let now = since(service, head).await;
        assert_eq!(now.events, session.events[known..], "after {}", head.revision());
        assert_eq!((&now.head, &now.state), (&session.head, &session.state));
    }
}

/// There are no new events, and the state is the stored one.
pub async fn events_since_the_newest_revision_are_none_and_the_state_is_fresh(service: &dyn SessionService) {
    let ours = created(service, &key("ours"), json!({"own": 1, "app:a": 1})).await;
    let mut theirs = created(service, &key("theirs"), json!({})).await;
    let delta = event("e1", 1.0).with_state("app:a", 2).with_state("user:u", 3);
    service.append_event(&mut theirs, delta).await.unwrap();
    let now = since(service, &ours.head).await;
    assert!(now.events.is_empty());
    assert_eq!(now, loaded(service, &key("ours")).await);
    assert_eq!(now.state, object(json!({"own": 1, "app:a": 2, "user:u": 3})));
}

/// A deleted session is `None`. A session that is created again does not continue the old one.
pub async fn events_since_a_revision_of_a_deleted_session_are_unknown(service: &dyn SessionService) {
    let mut old = created(service, &key("s"), json!({})).await;
    let fresh = old.head.clone();
    service.append_event(&mut old, event("e1", 1.0)).await.unwrap();
    service.delete_session(&key("s")).await.unwrap();
    assert_eq!(service.events_since(&old.head).await.unwrap(), None);
    let request = CreateSession::new("app", "user").with_session_id("s").with_create_time(CREATED + 5.0);
    let mut again = service.create_session(request).await.unwrap();
    service.append_event(&mut again, event("e2", 6.0)).await.unwrap();
    for head in [&old.head, &fresh] {
        assert_eq!(service.events_since(head).await.unwrap(), Some(Since::Unknown));
    }
}

/// New events are added after the existing ones, even if only a part of them is loaded. A session that cannot be
/// continued is loaded again.
pub async fn refresh_brings_a_session_up_to_date(service: &dyn SessionService) {
    let mut writer = created(service, &key("s"), json!({})).await;
    service.append_event(&mut writer, event("e1", 1.0)).await.unwrap();
    service.append_event(&mut writer, event("e2", 2.0)).await.unwrap();
    let mut whole = loaded(service, &key("s")).await;
    let mut part = service.get_session(&key("s"), GetSessionConfig::recent(1)).await.unwrap().unwrap();
    whole.state.insert("temp:t".to_owned(), json!(1));
    assert!(!service.refresh(&mut part).await.unwrap());
    service.append_event(&mut writer, event("e3", 3.0).with_state("k", 1)).await.unwrap();
    assert!(service.refresh(&mut whole).await.unwrap() && service.refresh(&mut part).await.unwrap());
    assert_eq!(whole, loaded(service, &key("s")).await);
    assert_eq!((ids(&part), &part.state), (vec!["e2".to_owned(), "e3".to_owned()], &whole.state));
    service.append_event(&mut part, event("e4", 4.0)).await.unwrap();

    service.delete_session(&key("s")).await.unwrap();
    let before = whole.clone();
    let error = service.refresh(&mut whole).await.unwrap_err();
    assert!(matches!(&error, SessionError::NotFound(gone) if *gone == key("s")), "{error}");
    assert_eq!(whole, before);
    let request = CreateSession::new("app", "user").with_session_id("s").with_create_time(CREATED + 9.0);
    let again = service.create_session(request).await.unwrap();
    assert!(service.refresh(&mut whole).await.unwrap());
    assert_eq!(whole, again);
}

/// Writers that do not depend on earlier events: each event is stored once.
pub async fn u1_append_with_reload_lands_whatever_others_do(service: &dyn SessionService) {
    let session = created(service, &key("s"), json!({})).await;
    join_all((0..6).map(|writer| {
        let mut own = session.clone();
        async move {
            for number in 0..5 {
                let event = event(&format!("w{writer}-{number}"), 1.0).with_state(format!("k{writer}"), number);
                service.append_with_reload(&mut own, event, 1_000).await.unwrap();
            }
        }
    }))
    .await;
    let back = loaded(service, &key("s")).await;
    assert_eq!((back.events.len(), back.state.len()), (30, 6));
    assert!(back.state.values().all(|value| *value == 4), "{:?}", back.state);

    let mut late = session.clone();
    let error = service.append_with_reload(&mut late, event("late", 2.0), 0).await.unwrap_err();
    assert!(error.is_stale(), "{error}");
    assert_eq!(late, session);
}

/// A working service reports success.
pub async fn s38_health_check_and_flush_of_a_sound_store_succeed(service: &dyn SessionService) {
    service.health_check().await.unwrap();
    created(service, &key("s"), json!({})).await;
    service.flush().await.unwrap();
    service.health_check().await.unwrap();
}

/// If the order of events differs from the order of appends, the service still knows the place of an event among the
/// appends.
pub async fn events_after_an_event_follow_the_order_of_appends(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    let ids = ["a", "future", "z", "y", "x", "past"];
    for (id, time) in ids.into_iter().zip([1.0, 9e8, 3.0, 3.0, 3.0, 0.5]) {
        service.append_event(&mut session, event(id, time)).await.unwrap();
    }
    for (place, id) in ids.into_iter().enumerate() {
        let Some(head) = service.head_behind(&key("s"), &id.into()).await.unwrap() else {
            assert_eq!(super::ids(&loaded(service, &key("s")).await), ids);
            continue;
        };
        let Some(Since::Events(after)) = service.events_since(&head).await.unwrap() else { panic!("{id}") };
        assert_eq!(super::ids(&after), ids[place + 1..], "{id}");
    }
    assert_eq!(service.head_behind(&key("s"), &"none".into()).await.unwrap(), None);
    assert_eq!(service.head_behind(&key("t"), &"a".into()).await.unwrap(), None);
}
