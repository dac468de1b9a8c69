//! Concurrent callers.
// S36, S37

use std::sync::Arc;

use futures_util::future::join_all;
use pleach_core::{Session, SessionKey};
use pleach_session::{CreateSession, SessionError, SessionService, SessionServiceExt as _};
use serde_json::json;

use super::{created, event, ids, key, loaded, object};

/// One writer creates the session, the others get an error.
pub async fn case_9_one_racing_create_wins(service: &dyn SessionService) {
    let racers = (0..6).map(|_| service.create_session(CreateSession::new("app", "user").with_session_id("s")));
    let outcomes = join_all(racers).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    for error in outcomes.into_iter().filter_map(Result::err) {
        assert!(matches!(error, SessionError::AlreadyExists(_)), "{error}");
    }
}

/// Six sessions in a new app.
pub async fn case_10_racing_creates_without_id_all_win(service: &dyn SessionService) {
    let racers = (0..6).map(|number| {
        let state = object(json!({ format!("app:{number}"): number }));
        service.create_session(CreateSession::new("app", "user").with_state(state))
    });
    let sessions: Vec<Session> = join_all(racers).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(loaded(service, sessions[0].key()).await.state.len(), 6);
}

/// google-adk's SQLite service stores all five.
pub async fn case_71_one_of_five_copies_is_stored(service: &dyn SessionService) {
    let session = created(service, &key("s"), json!({})).await;
    let outcomes = join_all((0..5).map(|number| {
        let mut copy = session.clone();
        async move { service.append_event(&mut copy, event(&format!("e{number}"), 1.0)).await }
    }))
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert!(outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).all(SessionError::is_stale));
    assert_eq!(loaded(service, &key("s")).await.events.len(), 1);
}

/// This happens if a caller gives up waiting and retries while the first attempt is still running.
pub async fn s36_the_same_append_twice_at_once_is_stored_once(service: &dyn SessionService) {
    for round in 0..10 {
        let key = key(&format!("s{round}"));
        let session = created(service, &key, json!({})).await;
        let sent = Arc::new(event("e1", 1.0).with_state("app:n", round));
        let heads = join_all((0..3).map(|_| {
            let mut head = session.head.clone();
            let sent = sent.clone();
            async move { service.append(&mut head, sent).await.map(|_| head) }
        }))
        .await;
        let back = loaded(service, &key).await;
        assert_eq!(ids(&back), ["e1"]);
        for head in heads {
            assert_eq!(head.unwrap(), back.head);
        }
    }
}

/// Eight sessions repeatedly write their own keys of app and user state; none is lost.
pub async fn case_72_concurrent_keys_of_shared_state_all_survive(service: &dyn SessionService) {
    join_all((0..8).map(|writer| async move {
        let mut session = created(service, &key(&format!("s{writer}")), json!({})).await;
        for round in 1..=10 {
            let event = event(&format!("e{round}"), f64::from(round))
                .with_state(format!("app:{writer}"), round)
                .with_state(format!("user:{writer}"), round);
            service.append_event(&mut session, event).await.unwrap();
        }
    }))
    .await;
    let state = loaded(service, &key("s0")).await.state;
    assert_eq!(state.len(), 16);
    assert!(state.values().all(|value| *value == json!(10)), "{state:?}");
}

/// 64 sessions with 50 appends each: there is no error, and each session is complete and in order.
pub async fn s36_many_sessions_append_at_once(service: &dyn SessionService) {
    let expected: Vec<_> = (0..50).map(|number| format!("e{number}")).collect();
    join_all((0..64).map(|writer| async move {
        let mut session = created(service, &SessionKey::new("app", format!("u{writer}"), "s"), json!({})).await;
        for number in 0..50 {
            let event = event(&format!("e{number}"), f64::from(number)).with_state("n", number);
            service.append_event(&mut session, event).await.unwrap();
        }
    }))
    .await;
    for writer in 0..64 {
        let session = loaded(service, &SessionKey::new("app", format!("u{writer}"), "s")).await;
        assert_eq!(ids(&session), expected);
        assert_eq!(session.state["n"], 49);
    }
}

/// Two writers with their own copies: exactly the acknowledged events are stored, in the order of the acknowledgements.
pub async fn s36_two_writers_of_one_session_land_in_order_or_are_stale(service: &dyn SessionService) {
    created(service, &key("s"), json!({})).await;
    let stored = join_all((0..2).map(|writer| async move {
        let mut stored = Vec::new();
        let mut session = loaded(service, &key("s")).await;
        for number in 0..40 {
            let seen = session.events.len() as f64;
            let id = format!("w{writer}-{number}");
            match service.append_event(&mut session, event(&id, 1.0 + seen)).await {
                Ok(_) => stored.push(id),
                Err(error) => {
                    assert!(error.is_stale(), "{error}");
                    session = loaded(service, &key("s")).await;
                }
            }
            tokio::task::yield_now().await;
        }
        stored
    }))
    .await;
    let history = ids(&loaded(service, &key("s")).await);
    for (writer, stored) in stored.iter().enumerate() {
        let prefix = format!("w{writer}-");
        let own: Vec<_> = history.iter().filter(|id| id.starts_with(&prefix)).cloned().collect();
        assert_eq!(own, *stored);
    }
    assert_eq!(history.len(), stored.iter().map(Vec::len).sum::<usize>());
}

/// Futures are dropped after one, two, three … polls; whatever happened, the event is stored whole or not at all.
pub async fn s36_a_dropped_append_is_whole_or_absent(service: &dyn SessionService) {
    created(service, &key("s"), json!({})).await;
    for polls in 0..12_u32 {
        let mut session = loaded(service, &key("s")).await;
        let before = session.clone();
        let id = format!("e{polls}");
        let event =
            event(&id, 1.0 + f64::from(polls)).with_state("last", id.clone()).with_state("app:last", id.clone());
        let mut head = session.head.clone();
        {
            let mut append = service.append(&mut head, Arc::new(event.clone()));
            for _ in 0..polls {
                let waker = std::task::Waker::noop();
                let mut context = std::task::Context::from_waker(waker);
                if append.as_mut().poll(&mut context).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        service.flush().await.unwrap();
        let after = loaded(service, &key("s")).await;
        if after == before {
            service.append_event(&mut session, event).await.unwrap();
            continue;
        }
        session.apply(&Arc::new(event.clone()));
        assert_eq!((&after.events, &after.state), (&session.events, &session.state));
        // The same append again finds it stored.
        service.append_event(&mut session, event).await.unwrap();
    }
    assert_eq!(loaded(service, &key("s")).await.events.len(), 12);
}
