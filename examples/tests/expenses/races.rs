//! Tests of simultaneous answers and deadlines.

use axum::http::StatusCode;
use futures_util::future::join;
use serde_json::{Value, json};

use crate::backend::{Backend, LIMIT, Place};
use crate::client::Client;

pub(crate) async fn one_of_two_simultaneous_answers_wins(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    for round in 0..5 {
        race(&place, &client, &client, round).await;
    }
}

pub(crate) async fn one_of_two_answers_in_two_processes_wins(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let (one, other) = (place.start().await, place.start().await);
    for round in 0..5 {
        race(&place, &one, &other, round).await;
    }
}

/// One manager approves and another one rejects. One answer must be accepted and the other refused, and the payment
/// must match the accepted one.
async fn race(place: &Place, one: &Client, other: &Client, round: usize) {
    let (id, before) = (format!("e{round}"), place.payments());
    one.submit(&id, 48_000).await;
    one.asks(&id).await;
    let (yes, no) = (json!({"approved": true}), json!({"approved": false}));
    let (yes, no) = if round.is_multiple_of(2) {
        join(one.answer(&id, yes), other.answer(&id, no)).await
    } else {
        let (no, yes) = join(one.answer(&id, no), other.answer(&id, yes)).await;
        (yes, no)
    };
    let outcome = place.clock.run(one.outcome(&id)).await;
    let paid = outcome["result"] == "paid";
    let (winner, loser) = if paid { (yes, no) } else { (no, yes) };
    assert_eq!(winner.0, StatusCode::ACCEPTED, "{outcome} {}", winner.1);
    assert_eq!(loser.0, StatusCode::CONFLICT, "{outcome} {}", loser.1);
    assert_eq!(place.payments() - before, usize::from(paid));
}

pub(crate) async fn an_answer_and_the_deadline_at_once_pay_at_most_once(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    client.submit("e1", 48_000).await;
    client.asks("e1").await;
    place.clock.advance(LIMIT).await;
    let (status, _) = client.answer("e1", json!({"approved": true})).await;
    let outcome: Value = place.clock.run(client.outcome("e1")).await;
    match status {
        StatusCode::ACCEPTED => assert_eq!(outcome["result"], "paid"),
        status => {
            assert_eq!(status, StatusCode::CONFLICT);
            assert_eq!(outcome["note"], "no manager has answered in time");
        }
    }
    assert_eq!(place.payments(), usize::from(status == StatusCode::ACCEPTED));
}
