//! Several services on one file, as in several processes, and appends that share a transaction.

use std::future::poll_fn;
use std::task::Poll;

use futures_util::future::join_all;
use pleach_contract::sessions::{created, event, ids, loaded};
use pleach_session::{SessionError, SessionService as _, SessionServiceExt as _};
use pleach_session_sqlite::SqliteSessionService;
use serde_json::json;

use super::{Place, key};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s60_a_new_file_can_be_opened_by_many_at_once() {
    let place = Place::new();
    let opened = join_all((0..8).map(|_| SqliteSessionService::open(place.path()))).await;
    for (number, service) in opened.into_iter().enumerate() {
        created(&service.unwrap(), &key(&format!("s{number}")), json!({})).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_append_does_not_affect_others_in_its_transaction() {
    let place = Place::new();
    let service = place.open().await;
    let mut sessions = Vec::new();
    for number in 0..40 {
        let mut session = created(&service, &key(&format!("s{number}")), json!({})).await;
        service.append_event(&mut session, event("first", 1.0)).await.unwrap();
        sessions.push(session);
    }
    // One in four has a taken id, one in four repeats a stored event, and one in four is stale.
    let outcomes = join_all(sessions.iter_mut().enumerate().map(|(number, session)| {
        let service = &service;
        async move {
            match number % 4 {
                0 => service.append_event(session, event("first", 9.0)).await,
                1 => service.append_event(session, event("first", 1.0)).await,
                2 => {
                    let mut head = session.head.clone();
                    head.advance(pleach_core::Revision::new(0, 0), 0.0);
                    service.append(&mut head, event("stale", 2.0).into()).await
                }
                _ => service.append_event(session, event("good", 2.0).with_state("user:n", number)).await,
            }
        }
    }))
    .await;
    for (number, outcome) in outcomes.into_iter().enumerate() {
        let expected: &[&str] = match number % 4 {
            0 => {
                assert!(matches!(outcome, Err(SessionError::EventAlreadyExists { .. })), "{outcome:?}");
                &["first"]
            }
            1 => {
                outcome.unwrap();
                &["first"]
            }
            2 => {
                assert!(outcome.unwrap_err().is_stale());
                &["first"]
            }
            _ => {
                outcome.unwrap();
                &["first", "good"]
            }
        };
        assert_eq!(ids(&loaded(&service, &key(&format!("s{number}"))).await), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_in_a_batch_may_belong_to_one_session() {
    let place = Place::new();
    let service = place.open().await;
    let session = created(&service, &key("s"), json!({})).await;
    // All have the same fence, so one is stored, and the others are judged against it in the same batch.
    let outcomes = join_all((0..50).map(|number| {
        let mut head = session.head.clone();
        let service = &service;
        async move { service.append(&mut head, event(&format!("e{number}"), 1.0).into()).await }
    }))
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert_eq!(loaded(&service, &key("s")).await.events.len(), 1);
}

/// A load waits for the writes of callers that have gone away. So a client that disconnects and comes back at once
/// finds the writes that were in progress.
#[tokio::test]
async fn a_load_does_not_overtake_the_append_of_a_caller_that_went_away() {
    let place = Place::new();
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    for round in 1..=20_u32 {
        let mut append = service.append(&mut session.head, event(&format!("e{round}"), f64::from(round)).into());
        let started = poll_fn(|cx| Poll::Ready(append.as_mut().poll(cx).is_pending())).await;
        drop(append);
        assert!(started, "the writer is another thread");
        session = loaded(&service, &key("s")).await;
        assert_eq!(ids(&session).len(), round as usize);
    }
}
