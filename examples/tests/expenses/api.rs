//! Tests of the routes. The requests are sent one after the other.

use std::time::Duration;

use axum::http::StatusCode;
use pleach::prelude::*;
use pleach::{GetSessionConfig, SIGNAL, SessionServiceExt as _};
use serde_json::{Value, json};

use crate::backend::{Backend, LIMIT};
use crate::client::ANA;
use crate::service::Bank;

pub(crate) async fn a_small_expense_is_paid_without_a_question(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    let (status, body) = client.post(ANA, json!({"cents": 5_000, "purpose": "a pen"})).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    let id = body["id"].as_str().unwrap();
    assert_eq!(client.outcome(id).await["result"], "paid");
    client.comes_to(id, "done").await;
    assert_eq!(client.status(id).await["questions"], json!([]));
    assert_eq!(place.payments(), 1);
}

pub(crate) async fn a_large_expense_is_paid_when_a_manager_approves(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    assert_eq!(client.submit("e1", 48_000).await, StatusCode::ACCEPTED);
    client.asks("e1").await;
    let status = client.status("e1").await;
    assert_eq!(status["progress"], "waiting");
    let question = &status["questions"][0];
    assert_eq!(question["message"], "Pay 480.00 to ana for a desk?");
    assert_eq!(question["payload"]["report"], json!({"cents": 48_000, "purpose": "a desk"}));
    assert_eq!(place.payments(), 0);

    assert_eq!(client.answer("e1", json!({"approved": true})).await.0, StatusCode::ACCEPTED);
    assert_eq!(client.outcome("e1").await["result"], "paid");
    client.comes_to("e1", "done").await;
    assert_eq!(place.payments(), 1);
    // The question has already been answered, so even the same answer is refused.
    let (status, body) = client.answer("e1", json!({"approved": true})).await;
    assert_eq!(status, StatusCode::CONFLICT, "{body}");
}

pub(crate) async fn a_rejected_expense_is_not_paid(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    client.submit("e1", 48_000).await;
    client.asks("e1").await;
    client.answer("e1", json!({"approved": false, "note": "buy a used one", "by": "ben"})).await;
    let outcome = json!({"result": "rejected", "by": "mia", "note": "buy a used one"});
    assert_eq!(client.outcome("e1").await, outcome);
    assert_eq!(place.payments(), 0);
}

pub(crate) async fn an_expense_that_no_manager_answers_is_rejected_at_its_deadline(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    client.submit("e1", 48_000).await;
    client.asks("e1").await;
    place.clock.advance(LIMIT - Duration::from_secs(1)).await;
    assert_eq!(client.status("e1").await["progress"], "waiting");
    place.clock.advance(Duration::from_secs(1)).await;
    let outcome = json!({"result": "rejected", "by": null, "note": "no manager has answered in time"});
    assert_eq!(place.clock.run(client.outcome("e1")).await, outcome);
    assert_eq!(client.answer("e1", json!({"approved": true})).await.0, StatusCode::CONFLICT);
    assert_eq!(place.payments(), 0);
}

pub(crate) async fn an_answer_that_does_not_fit_is_refused_with_its_field_and_changes_nothing(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    client.submit("e1", 48_000).await;
    client.asks("e1").await;
    let before = client.status("e1").await;
    for (answer, field) in [
        (json!({"approved": "perhaps"}), "approved"),
        (json!({"note": "fine"}), "approved"),
        (json!({"approved": true, "note": 7}), "note"),
        (json!({"approve": true, "approved": true}), "approve"),
    ] {
        let (status, body) = client.answer("e1", answer.clone()).await;
        assert_eq!((status, &body["field"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!(field)), "{answer}: {body}");
    }
    let (status, body) = client.answer("e1", json!("yes")).await;
    assert_eq!((status, body.get("field")), (StatusCode::UNPROCESSABLE_ENTITY, None), "{body}");
    assert_eq!(client.status("e1").await, before);

    let (status, body) = client.post(ANA, json!({"cents": 0, "purpose": "nothing"})).await;
    assert_eq!((status, &body["field"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("cents")));
    let (status, body) = client.post(ANA, json!({"cents": -1, "purpose": "nothing"})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(body["error"].as_str().unwrap().contains("cents: invalid value"), "{body}");
}

pub(crate) async fn missing_things_are_not_found(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    client.submit("e1", 48_000).await;
    client.asks("e1").await;
    let answer = json!({"approved": true});
    assert_eq!(client.answer("e2", answer.clone()).await.0, StatusCode::NOT_FOUND);
    assert_eq!(client.post(&format!("{ANA}/e2/retry"), answer.clone()).await.0, StatusCode::NOT_FOUND);
    // An expense of ana does not belong to ben.
    for path in [format!("{ANA}/e2"), format!("{ANA}/e2/events"), "/employees/ben/expenses/e1".to_owned()] {
        assert_eq!(client.get(&path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let events = format!("{ANA}/e1/events?after=nothing");
    assert_eq!(client.get(&events).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(client.post(&format!("{ANA}/e1/retry"), answer).await.0, StatusCode::CONFLICT);
}

pub(crate) async fn a_question_is_answered_by_the_person_or_role_that_is_asked(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    client.submit("e1", 48_000).await;
    client.asks("e1").await;
    // A wait for a signal with the same assignee. Only programs end it.
    let signal = format!("{SIGNAL}expense@1/approve@1:1");
    let asks = RequestInput::<Value>::ask(&signal, "cancel").assign_to("managers").into_event(&signal);
    let sessions = client.service.runner.sessions();
    let key = SessionKey::new("expenses", "ana", "e1");
    let mut session = sessions.get_session(&key, GetSessionConfig::all()).await.unwrap().unwrap();
    let mut event = asks.with_node_path("expense@1/approve@1");
    event.set_id("wait");
    event.set_invocation_id("e1");
    event.set_author("expense");
    sessions.append_event(&mut session, event).await.unwrap();
    assert_eq!(client.service.runner.questions(&key).await.unwrap().len(), 2);

    let answer = json!({"approved": true});
    for (who, question, expected) in [
        (&[][..], "approval", StatusCode::UNAUTHORIZED),
        (&["ana"], "approval", StatusCode::FORBIDDEN),
        (&["ana", "employees", "boss"], "approval", StatusCode::FORBIDDEN),
        (&["mia", "managers"], "approved", StatusCode::NOT_FOUND),
        (&["mia", "managers"], &signal, StatusCode::NOT_FOUND),
        (&["managers"], "approval", StatusCode::ACCEPTED),
    ] {
        let (status, body) = client.answer_as(who, "e1", &encoded(question), answer.clone()).await;
        assert_eq!(status, expected, "{who:?} {question}: {body}");
    }
}

pub(crate) async fn a_report_that_is_sent_twice_is_filed_once(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    for _ in 0..2 {
        assert_eq!(client.submit("e1", 1_200).await, StatusCode::ACCEPTED);
        assert_eq!(client.outcome("e1").await["result"], "paid");
    }
    assert_eq!(client.submit("e1", 1_300).await, StatusCode::CONFLICT);
    assert_eq!(place.payments(), 1);
}

pub(crate) async fn the_inbox_has_pages(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    for number in 1..=5 {
        client.submit(&format!("e{number}"), 48_000).await;
        client.asks(&format!("e{number}")).await;
        place.clock.advance(Duration::from_secs(1)).await;
    }
    client.answer("e3", json!({"approved": false})).await;
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let (status, page) = client.get(&format!("/inbox?assignee=managers&limit=2{after}")).await;
        assert_eq!(status, StatusCode::OK);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        seen.extend(items.iter().map(|item| item["expense"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={}", encoded(next)),
            None => break,
        }
    }
    assert_eq!(seen, ["e1", "e2", "e4", "e5"]);
    assert_eq!(client.get("/inbox?assignee=boss").await.1["items"], json!([]));
    assert_eq!(client.get("/inbox?after=x").await.0, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(client.get("/health").await.0, StatusCode::OK);
}

/// Percent-encodes every byte of a text.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

pub(crate) async fn a_failed_payment_is_tried_again_by_an_operator(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let ledger = place.folder.path().join("bank/payments.jsonl");
    let client = place.start_with(Bank::new(&ledger, Duration::ZERO)).await;
    client.submit("e1", 1_200).await;
    let mut events = client.events("e1", None).await;
    while events.next().await.unwrap().data.get("error").is_none() {}
    client.comes_to("e1", "failed").await;
    let status = client.status("e1").await;
    assert_eq!(status["error"], "BankError");

    std::fs::create_dir(ledger.parent().unwrap()).unwrap();
    assert_eq!(client.post(&format!("{ANA}/e1/retry"), json!({})).await.0, StatusCode::ACCEPTED);
    assert_eq!(client.outcome("e1").await["result"], "paid");
    assert_eq!(std::fs::read_to_string(ledger).unwrap().lines().count(), 1);
}
