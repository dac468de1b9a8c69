//! Claims, which advance the revision without an event.

use futures_util::future::join_all;
use pleach_session::{SessionError, SessionService, SessionServiceExt as _};
use serde_json::json;

use super::{CREATED, created, event, ids, key, loaded};

/// Events and state stay; the claimed head equals the stored one.
pub async fn a_claim_moves_the_revision_on_and_stores_nothing(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({"k": 1})).await;
    service.append_event(&mut session, event("e1", 1.0).with_state("app:x", 1)).await.unwrap();
    let before = session.clone();
    service.claim(&mut session.head, CREATED + 5.0).await.unwrap();
    assert!(session.revision() > before.revision());
    assert_eq!(session.last_update_time(), CREATED + 5.0);
    assert_eq!(loaded(service, &key("s")).await, session);
    assert_eq!((&session.events, &session.state), (&before.events, &before.state));
    let mut late = before.clone();
    for error in [
        service.claim(&mut late.head, CREATED + 6.0).await.unwrap_err(),
        service.append_event(&mut late, event("e2", 6.0)).await.unwrap_err(),
    ] {
        let SessionError::Stale { key: stale, stored, ours } = &error else { panic!("{error}") };
        assert_eq!((stale, *stored, *ours), (&key("s"), session.revision(), before.revision()));
    }
    assert_eq!(late, before);
    service.append_event(&mut session, event("e2", 6.0)).await.unwrap();
    assert_eq!(loaded(service, &key("s")).await, session);
}

/// All have the same head: one does the work, the others learn of it before they begin.
pub async fn one_racing_claim_wins(service: &dyn SessionService) {
    let session = created(service, &key("s"), json!({})).await;
    let outcomes = join_all((0..8).map(|_| {
        let mut head = session.head.clone();
        async move { service.claim(&mut head, CREATED + 1.0).await.map(|()| head) }
    }))
    .await;
    let (won, lost): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    assert!(lost.into_iter().filter_map(Result::err).all(|error| error.is_stale()));
    assert_eq!(loaded(service, &key("s")).await.head, won.into_iter().find_map(Result::ok).unwrap());
}

/// The clock may be behind the session, or show the time of an earlier event: every revision is still new.
pub async fn a_claim_never_repeats_a_revision(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    service.append_event(&mut session, event("later", 100.0)).await.unwrap();
    let mut seen = vec![session.revision()];
    for (number, time) in [3.0, 1.0, 4.0, 0.0].into_iter().enumerate() {
        service.append_event(&mut session, event(&format!("e{number}"), time)).await.unwrap();
        seen.push(session.revision());
        let clock = if number == 0 { 100.0 } else { 200.0 + time };
        for claimed in [-5.0, clock, clock] {
            service.claim(&mut session.head, CREATED + claimed).await.unwrap();
            assert!(!seen.contains(&session.revision()), "{} in {seen:?}", session.revision());
            seen.push(session.revision());
            assert_eq!(loaded(service, &key("s")).await.head, session.head);
        }
    }
    assert_eq!(loaded(service, &key("s")).await.events.len(), 5);
}

/// Every claim uses the same time, and the events between the claims have older times.
pub async fn a_claim_at_the_time_of_an_earlier_claim_is_a_new_one(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    let mut old = vec![session.head.clone()];
    for number in 0..4 {
        for _ in 0..2 {
            service.claim(&mut session.head, CREATED + 50.0).await.unwrap();
            assert_eq!(loaded(service, &key("s")).await.head, session.head);
            old.push(session.head.clone());
        }
        let time = if number % 2 == 0 { 2.0 } else { 1.0 };
        service.append_event(&mut session, event(&format!("e{number}"), time)).await.unwrap();
        assert_eq!(loaded(service, &key("s")).await.head, session.head);
        for head in &mut old {
            assert!(service.append(&mut head.clone(), event("late", 60.0).into()).await.unwrap_err().is_stale());
            assert!(service.claim(head, CREATED + 50.0).await.unwrap_err().is_stale());
        }
    }
    // An event with exactly the time of a claim.
    service.claim(&mut session.head, CREATED + 70.0).await.unwrap();
    service.append_event(&mut session, event("same", 70.0)).await.unwrap();
    assert_eq!(loaded(service, &key("s")).await.head, session.head);
}

/// The caller has seen the event and has claimed the session since: its head stays. An event that it appended after the
/// claim advances the head.
pub async fn a_repeated_append_after_a_claim_does_not_go_back(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    for (id, time) in [("e1", 1.0), ("e2", 0.5), ("e3", 3.0)] {
        service.append_event(&mut session, event(id, time)).await.unwrap();
    }
    service.claim(&mut session.head, CREATED + 5.0).await.unwrap();
    let before = session.head.clone();
    for (id, time) in [("e1", 1.0), ("e2", 0.5), ("e3", 3.0)] {
        service.append(&mut session.head, event(id, time).into()).await.unwrap();
        assert_eq!(session.head, before);
    }
    let mut lost = session.head.clone();
    service.append(&mut lost, event("e4", 2.0).into()).await.unwrap();
    service.append(&mut session.head, event("e4", 2.0).into()).await.unwrap();
    assert_eq!(session.head, lost);
    service.append(&mut session.head, event("e5", 6.0).into()).await.unwrap();
    assert_eq!(loaded(service, &key("s")).await.head, session.head);
}

/// A reader with a head from before, between or after claims gets every event once.
pub async fn readers_see_through_claims(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    let mut readers = vec![session.clone()];
    for number in 0..3 {
        service.append_event(&mut session, event(&format!("e{number}"), f64::from(number))).await.unwrap();
        readers.push(session.clone());
        service.claim(&mut session.head, CREATED + f64::from(number)).await.unwrap();
        readers.push(session.clone());
    }
    for mut reader in readers {
        service.refresh(&mut reader).await.unwrap();
        assert_eq!((ids(&reader).len(), &reader), (3, &session));
    }
}

/// Claiming creates nothing.
pub async fn a_deleted_session_cannot_be_claimed(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    service.delete_session(&key("s")).await.unwrap();
    let error = service.claim(&mut session.head, CREATED + 1.0).await.unwrap_err();
    assert!(matches!(&error, SessionError::NotFound(gone) if *gone == key("s")), "{error}");
}

/// The newest head passes for everyone. An older head is stale. A head of a session that was deleted, or deleted and
/// created again, is invalid.
pub async fn a_head_is_checked_and_nothing_changes(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({"k": 1})).await;
    let mut older = vec![session.head.clone()];
    service.check_head(&session.head).await.unwrap();
    for round in 0..3_u32 {
        let time = f64::from(round);
        service.append_event(&mut session, event(&format!("e{round}"), 7.0)).await.unwrap();
        service.check_head(&session.head).await.unwrap();
        older.push(session.head.clone());
        service.claim(&mut session.head, CREATED + 10.0 + time).await.unwrap();
        service.check_head(&session.head).await.unwrap();
        service.check_head(&loaded(service, &key("s")).await.head).await.unwrap();
        older.push(session.head.clone());
    }
    older.pop();
    for head in &older {
        let error = service.check_head(head).await.unwrap_err();
        let SessionError::Stale { key: stale, stored, ours } = &error else { panic!("{error}") };
        assert_eq!((stale, *stored, *ours), (&key("s"), session.revision(), head.revision()));
    }
    let other = created(service, &key("other"), json!({})).await;
    service.check_head(&other.head).await.unwrap();
    assert_eq!(loaded(service, &key("s")).await, session);
    // The head stays the newest, so the next append is not stale.
    service.append_event(&mut session, event("last", 20.0)).await.unwrap();
    service.delete_session(&key("s")).await.unwrap();
    let error = service.check_head(&session.head).await.unwrap_err();
    assert!(matches!(&error, SessionError::NotFound(gone) if *gone == key("s")), "{error}");
    created(service, &key("s"), json!({})).await;
    assert!(service.check_head(&session.head).await.unwrap_err().is_stale());
    let unknown = pleach_core::SessionHead::new(key("unknown"), session.revision(), CREATED);
    assert!(matches!(service.check_head(&unknown).await, Err(SessionError::NotFound(_))));
}
