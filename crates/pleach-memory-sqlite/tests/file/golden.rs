//! A file that google-adk wrote, and the results that google-adk itself finds in it.
//!
//! `memory.sqlite` was filled by google-adk 2.13.0's `SqliteMemoryService`. It has two sessions and some events without
//! a session for one user, and one session each for another user and another app. The texts have thoughts, other
//! scripts, composed letters, wildcards, bytes, calls and equal texts of different age. One event has no id.
//! `expected.json` holds the results of the same service for each query (`searches`), three more events (`added`: one
//! replaces an entry, one has no id), and the rows and results after google-adk added those (`rows`, `searches_after`).
//! Times are in seconds, because entries show them in local time.

use pleach_core::Event;
use pleach_memory::{AddEvents, MemoryService as _, SearchMemory, local_time};
use pleach_memory_sqlite::{SqliteMemoryOptions, SqliteMemoryService};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Row as _};

use super::Place;

fn expected() -> Value {
    serde_json::from_str(include_str!("../golden/expected.json")).expect("JSON")
}

fn golden() -> Place {
    let place = Place::new();
    std::fs::write(place.path(), include_bytes!("../golden/memory.sqlite")).expect("written");
    place
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

async fn check(service: &SqliteMemoryService, searches: &Value) {
    for wanted in list(searches) {
        let req = SearchMemory::new(text(&wanted["app"]), text(&wanted["user"]), text(&wanted["query"]));
        let response = service.search_memory(req).await.expect("searched");
        let mut memories = wanted["memories"].clone();
        for memory in memories.as_array_mut().expect("a list") {
            memory["timestamp"] = json!(local_time(memory["timestamp"].as_f64().expect("a time")));
        }
        assert_eq!(json!(response.memories), memories, "{}", wanted["query"]);
    }
}

/// Returns all rows; JSON is compared by value.
async fn rows(place: &Place) -> Vec<Value> {
    let mut connection = SqliteConnectOptions::new().filename(place.path()).connect().await.expect("connected");
    let rows = sqlx::query("SELECT * FROM memory_events ORDER BY id").fetch_all(&mut connection).await.expect("rows");
    let row = |row: &sqlx::sqlite::SqliteRow| {
        let text = |column: &str| row.get::<String, _>(column);
        json!({
            "id": row.get::<i64, _>("id"),
            "app_name": text("app_name"),
            "user_id": text("user_id"),
            "session_id": text("session_id"),
            "event_id": text("event_id"),
            "author": text("author"),
            "timestamp": row.get::<f64, _>("timestamp"),
            "content_json": serde_json::from_str::<Value>(&text("content_json")).expect("JSON"),
            "search_text": text("search_text"),
        })
    };
    rows.iter().map(row).collect()
}

#[tokio::test]
async fn s82_a_file_of_google_adk_is_searched_and_continued() {
    let (place, expected) = (golden(), expected());
    let service = place.open().await;
    check(&service, &expected["searches"]).await;

    let added = &expected["added"];
    let event = |event: &Value| serde_json::from_value::<Event>(event.clone()).expect("an event").into();
    let events = list(&added["events"]).iter().map(event).collect();
    let req = AddEvents::new(text(&added["app"]), text(&added["user"]), events).with_session(text(&added["session"]));
    service.add_events_to_memory(req).await.expect("remembered");

    let mut wanted = list(&expected["rows"]).to_vec();
    for row in &mut wanted {
        row["content_json"] = serde_json::from_str(text(&row["content_json"])).expect("JSON");
    }
    assert_eq!(rows(&place).await, wanted);
    check(&service, &expected["searches_after"]).await;
}

#[tokio::test]
async fn s82_without_the_index_parts_of_words_are_found() {
    let place = golden();
    let options = SqliteMemoryOptions::new().without_full_text();
    let service = SqliteMemoryService::open_with(place.path(), options).await.expect("a memory");
    for (query, ids) in [("gree", vec!["e1"]), ("使う", vec!["e4"]), ("0%", vec!["e3"]), ("snake%case", vec![])] {
        let response = service.search_memory(SearchMemory::new("app", "ann", query)).await.expect("searched");
        let found: Vec<_> = response.memories.iter().map(|memory| &memory.custom_metadata["event_id"]).collect();
        assert_eq!(found, ids, "{query}");
    }
}
