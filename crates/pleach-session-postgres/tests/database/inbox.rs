//! The tables of the inbox: when they are made, what is read, and what becomes of them.

use pleach_core::SessionKey;
use pleach_session::{GetSessionConfig, ListQuestions, SessionService, SessionServiceExt as _};
use pleach_session_postgres::PostgresSessionService;
use pleach_testkit::contract::{answers, asks, created, event, loaded};
use serde_json::json;

use super::{Place, key};

async fn ours(place: &Place) -> Vec<String> {
    let schema = &place.schema;
    place
        .texts(&format!(
            "SELECT relname::text FROM pg_class WHERE relnamespace = '{schema}'::regnamespace AND relname LIKE 'pleach%'
             AND relname NOT LIKE '%pkey' ORDER BY 1"
        ))
        .await
}

const ALL: [&str; 5] =
    ["pleach_events_1", "pleach_inbox", "pleach_questions", "pleach_questions_by_assignee", "pleach_questions_by_time"];

async fn open(service: &dyn SessionService) -> Vec<String> {
    let found = service.list_questions(ListQuestions::new("app")).await.unwrap();
    found.items.into_iter().map(|item| item.question.id).collect()
}

async fn append(service: &dyn SessionService, key: &SessionKey, event: pleach_core::Event) {
    let mut session = loaded(service, key).await;
    service.append_event(&mut session, event).await.unwrap();
}

/// A session with a message and a question, and another one with an answered question.
async fn filled(place: &Place) -> PostgresSessionService {
    let service = place.open().await;
    for id in ["s", "t"] {
        created(&service, &key(id), json!({})).await;
        append(&service, &key(id), event("e1", 1.0)).await;
        append(&service, &key(id), asks("e2", 2.0, id, Some("lead"))).await;
    }
    append(&service, &key("t"), answers("e3", 3.0, "t")).await;
    service
}

#[tokio::test]
async fn a5_a_database_has_google_adks_layout_until_questions_are_listed() {
    let Some(place) = Place::new().await else { return };
    let service = filled(&place).await;
    assert_eq!(ours(&place).await, [""; 0]);
    assert_eq!(open(&service).await, ["s"]);
    assert_eq!(ours(&place).await, ALL);
    assert_eq!(open(&place.open().await).await, ["s"]);
}

/// Plain events are not even parsed, and no state is.
#[tokio::test]
async fn a5_histories_and_states_are_not_read() {
    let Some(place) = Place::new().await else { return };
    let service = filled(&place).await;
    place
        .run(r#"UPDATE events SET event_data = '{"author": 5}' WHERE id = 'e1'; UPDATE sessions SET state = '5'"#)
        .await;
    for _ in 0..2 {
        assert_eq!(open(&service).await, ["s"]);
    }
    assert!(service.get_session(&key("s"), GetSessionConfig::all()).await.is_err());
}

#[tokio::test]
async fn a5_a_damaged_projection_is_made_again() {
    for damage in [
        "DROP TABLE pleach_questions",
        "DROP TABLE pleach_questions, pleach_inbox",
        "DELETE FROM pleach_questions",
        "DELETE FROM pleach_inbox",
        "UPDATE pleach_inbox SET projection = 0; UPDATE pleach_questions SET event_id = 'e1'",
        "UPDATE pleach_inbox SET events = 7",
        "DROP TABLE pleach_questions; CREATE TABLE pleach_questions (app_name text)",
        "DROP TABLE pleach_questions, pleach_inbox; CREATE TABLE pleach_inbox (x text)",
    ] {
        let Some(place) = Place::new().await else { return };
        let service = filled(&place).await;
        assert_eq!(open(&service).await, ["s"]);
        place.run(damage).await;
        assert_eq!(open(&service).await, ["s"], "{damage}");
        assert_eq!(ours(&place).await, ALL, "{damage}");
        append(&service, &key("t"), asks("e4", 4.0, "again", None)).await;
        assert_eq!(open(&service).await, ["s", "again"], "{damage}");
    }
}

/// Without the index the answer is the same, and the next service makes it again.
#[tokio::test]
async fn a5_a_dropped_index_is_made_again_by_the_next_service() {
    let Some(place) = Place::new().await else { return };
    let service = filled(&place).await;
    assert_eq!(open(&service).await, ["s"]);
    place.run("DROP INDEX pleach_events_1").await;
    append(&service, &key("t"), asks("e4", 4.0, "again", None)).await;
    assert_eq!(open(&service).await, ["s", "again"]);
    assert_eq!(open(&place.open().await).await, ["s", "again"]);
    assert_eq!(ours(&place).await, ALL);
}

/// What is deleted by hand is not listed, and takes our rows along.
#[tokio::test]
async fn a5_rows_that_are_deleted_by_hand_are_not_listed() {
    let Some(place) = Place::new().await else { return };
    let service = filled(&place).await;
    assert_eq!(open(&service).await, ["s"]);
    place.run("DELETE FROM events WHERE id = 'e3'").await;
    assert_eq!(open(&service).await, ["s", "t"]);
    place.run("DELETE FROM sessions WHERE id = 't'").await;
    assert_eq!(place.texts("SELECT session_id FROM pleach_inbox").await, ["s"]);
    assert_eq!(open(&service).await, ["s"]);
}

/// Where nothing can be made or written, every session is loaded.
#[tokio::test]
async fn a5_a_database_that_is_read_only_is_walked() {
    let Some(place) = Place::new().await else { return };
    let service = filled(&place).await;
    let url = place.url().replace("options=", "options=-cdefault_transaction_read_only%3Don%20");
    let reader = PostgresSessionService::open(&url).await.unwrap();
    assert_eq!(open(&reader).await, ["s"]);
    assert_eq!(ours(&place).await, [""; 0]);
    // Made by another, and behind.
    assert_eq!(open(&service).await, ["s"]);
    append(&service, &key("t"), asks("e4", 4.0, "again", None)).await;
    assert_eq!(open(&reader).await, ["s", "again"]);
}
