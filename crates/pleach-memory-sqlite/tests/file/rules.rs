//! The rules of storing and finding entries.

use std::sync::Arc;

use pleach_core::{Content, Event, Map, Part};
use pleach_memory::{AddEvents, AddMemory, DeleteMemory, MemoryEntry, MemoryService as _, SearchMemory, local_time};
use pleach_memory_sqlite::{SqliteMemoryOptions, SqliteMemoryService};
use serde_json::json;

use super::{Place, add, event, found, search, session};

#[tokio::test]
async fn s82_an_entry_tells_who_said_what_where_and_when() {
    let place = Place::new();
    let service = place.open().await;
    service
        .add_session_to_memory(&session("s", vec![event("e1", 1_760_000_000.25, "I like tea")]))
        .await
        .expect("added");
    assert_eq!(
        json!(search(&service, "tea").await),
        json!([{
            "content": {"parts": [{"text": "I like tea"}], "role": "user"},
            "custom_metadata": {"session_id": "s", "event_id": "e1"},
            "id": "1",
            "author": "user",
            "timestamp": local_time(1_760_000_000.25),
        }])
    );
}

#[tokio::test]
async fn s82_adding_again_replaces_an_entry_and_removes_none() {
    let place = Place::new();
    let service = place.open().await;
    let before = session("s", vec![event("e1", 1.0, "green tea"), event("e2", 2.0, "tea")]);
    service.add_session_to_memory(&before).await.expect("added");
    service.add_session_to_memory(&session("s", vec![event("e1", 3.0, "black tea")])).await.expect("added");
    assert_eq!(found(&service, "tea").await, ["e2", "e1"]);
    assert_eq!(found(&service, "green").await, [""; 0]);
    assert_eq!(search(&service, "black").await[0].id.as_deref(), Some("1"));
    // The same event in another session is another entry.
    add(&service, "t", vec![event("e1", 4.0, "black tea")]).await;
    assert_eq!(found(&service, "black").await, ["e1", "e1"]);
}

#[tokio::test]
async fn s82_only_text_is_searched() {
    let mut thought = Part::text("tea");
    thought.thought = Some(true);
    let silent = [
        Event::of("tea"),
        Event::new().with_content(Content::new("user", [])),
        Event::message(Part::bytes("image/png", vec![1])),
        Event::message(thought),
        Event::message(" \n "),
    ];
    let place = Place::new();
    let service = place.open().await;
    add(&service, "s", silent.map(Arc::new).into()).await;
    add(&service, "s", vec![event("e1", 1.0, "tea")]).await;
    assert_eq!(found(&service, "tea").await, ["e1"]);
    assert_eq!(search(&service, "tea").await[0].id.as_deref(), Some("1"));
}

#[tokio::test]
async fn s82_a_memory_belongs_to_a_user_of_an_app() {
    let place = Place::new();
    let service = place.open().await;
    add(&service, "s", vec![event("e1", 1.0, "tea")]).await;
    for (app, user) in [("app", "u2"), ("app2", "u1")] {
        let response = service.search_memory(SearchMemory::new(app, user, "tea")).await;
        assert_eq!(response.expect("searched").memories, []);
    }
}

#[tokio::test]
async fn s82_rare_words_come_first_then_newer_ones_and_fifty_at_most() {
    let place = Place::new();
    let service = place.open().await;
    let mut events: Vec<_> = (0..60).map(|n| event(&format!("e{n}"), f64::from(n % 2), "tea time")).collect();
    events.push(event("best", -1.0, "green tea"));
    add(&service, "s", events).await;
    let ids = found(&service, "green tea").await;
    assert_eq!(ids.len(), 50);
    assert_eq!(ids[..3], ["best", "e1", "e3"]);
    assert_eq!(ids[31..33], ["e0", "e2"]);

    let options = SqliteMemoryOptions::new().with_max_results(2).without_full_text();
    let service = SqliteMemoryService::open_with(place.path(), options).await.expect("a memory");
    assert_eq!(found(&service, "green tea").await, ["best", "e1"]);
}

#[tokio::test]
async fn s82_questions_are_words_and_not_syntax() {
    let place = Place::new();
    let service = place.open().await;
    add(&service, "s", vec![event("e1", 1.0, "tea \"AND\" more: column*")]).await;
    for query in ["\"", "tea\"", "tea*", "search_text:tea", "(tea", "tea NOT", "NEAR(tea", "^tea", "-tea"] {
        let expected: &[&str] = if query == "\"" { &[] } else { &["e1"] };
        assert_eq!(found(&service, query).await, expected, "{query}");
    }
    let long: Vec<_> = (0..3000).map(|n| format!("w{n}")).collect();
    for service in [service, without_full_text(&place).await] {
        assert_eq!(found(&service, &long.join(" ")).await, [""; 0]);
        assert_eq!(found(&service, " ?! ").await, [""; 0]);
    }
}

async fn without_full_text(place: &Place) -> SqliteMemoryService {
    let options = SqliteMemoryOptions::new().without_full_text();
    SqliteMemoryService::open_with(place.path(), options).await.expect("a memory")
}

#[tokio::test]
async fn s82_long_texts_are_kept_whole_and_searched_to_the_limit() {
    let place = Place::new();
    let options = SqliteMemoryOptions::new().with_max_indexed_bytes(9);
    let service = SqliteMemoryService::open_with(place.path(), options).await.expect("a memory");
    add(&service, "s", vec![event("e1", 1.0, "green tea and more")]).await;
    assert_eq!(search(&service, "tea").await[0].content, Content::user("green tea and more"));
    assert_eq!(found(&service, "more").await, [""; 0]);
}

#[tokio::test]
async fn s82_an_index_is_made_for_a_file_that_has_none() {
    let place = Place::new();
    let service = without_full_text(&place).await;
    add(&service, "s", vec![event("e1", 1.0, "green tea")]).await;
    assert_eq!(found(&service, "gre").await, ["e1"]);
    let indexed = place.open().await;
    assert_eq!(found(&indexed, "gre").await, [""; 0]);
    assert_eq!(found(&indexed, "green").await, ["e1"]);
    // A service that opened the file without the index keeps the index up to date.
    add(&service, "s", vec![event("e1", 1.0, "black tea")]).await;
    assert_eq!(found(&indexed, "green").await, [""; 0]);
    assert_eq!(found(&indexed, "black").await, ["e1"]);
}

#[tokio::test]
async fn s80_deletions_are_not_supported() {
    let place = Place::new();
    let service = place.open().await;
    let error = service.delete_memory(DeleteMemory::new("app", "u1", "1")).await.expect_err("unsupported");
    assert_eq!(error.code(), "NotImplementedError");
}

fn object(value: serde_json::Value) -> Map {
    value.as_object().cloned().expect("an object")
}

#[tokio::test]
async fn s80_metadata_is_returned_with_the_ids_and_replaced_with_its_entry() {
    let place = Place::new();
    let service = place.open().await;
    let add = |events, metadata| {
        let req = AddEvents::new("app", "u1", events).with_session("s").with_custom_metadata(object(metadata));
        service.add_events_to_memory(req)
    };
    let metadata = async || search(&place.open().await, "tea").await.into_iter().map(|entry| entry.custom_metadata);
    add(vec![event("e1", 1.0, "tea")], json!({})).await.expect("stored");
    let ids = |id: &str| json!({"session_id": "s", "event_id": id});
    assert!(metadata().await.eq([object(ids("e1"))]));
    add(vec![event("e2", 2.0, "tea")], json!({"ttl": 5, "event_id": "mine"})).await.expect("stored");
    let with = object(json!({"ttl": 5, "session_id": "s", "event_id": "e2"}));
    assert!(metadata().await.eq([with, object(ids("e1"))]));
    add(vec![event("e2", 2.0, "tea")], json!({})).await.expect("stored");
    assert!(metadata().await.eq([object(ids("e2")), object(ids("e1"))]));
}

#[tokio::test]
async fn s80_direct_entries_are_found_and_replaced_by_id() {
    let place = Place::new();
    let service = place.open().await;
    let entry = |id: Option<&str>, text: &str| MemoryEntry {
        id: id.map(Into::into),
        author: Some("ann".into()),
        timestamp: Some("2025-10-09T08:53:20".into()),
        ..MemoryEntry::new(Content::user(text))
    };
    let add = |entries: Vec<MemoryEntry>| {
        service.add_memory(AddMemory::new("app", "u1", entries).with_custom_metadata(object(json!({"ttl": 5}))))
    };
    add(vec![entry(Some("m1"), "green tea"), entry(None, "black tea"), MemoryEntry::default()]).await.expect("stored");
    add(vec![entry(Some("m1"), "white tea"), entry(None, "black tea")]).await.expect("stored");
    let memories = search(&service, "tea").await;
    assert_eq!(memories.len(), 2);
    let expected = json!({"ttl": 5, "session_id": "__pleach_entries__", "event_id": "m1"});
    assert_eq!(memories[0].custom_metadata, object(expected));
    assert_eq!(
        (memories[0].author.as_deref(), memories[0].timestamp.as_deref()),
        (Some("ann"), Some("2025-10-09T08:53:20"))
    );
    assert_eq!(found(&service, "green").await, [""; 0]);
    // An entry that a search found can be added again with another text.
    let edited = MemoryEntry { content: Content::user("red tea"), ..memories[0].clone() };
    assert_eq!(edited.id.as_deref(), Some("m1"));
    add(vec![edited]).await.expect("stored");
    assert_eq!(found(&service, "tea").await.len(), 2);
    assert_eq!(found(&service, "white").await, [""; 0]);

    // The error names an entry that cannot be stored, and none is stored.
    let wrong = MemoryEntry { timestamp: Some("yesterday".into()), ..entry(None, "blue tea") };
    let error = add(vec![entry(None, "mint tea"), wrong]).await.expect_err("no time");
    assert!(error.to_string().starts_with("timestamp of memories[1] cannot be stored: \"yesterday\""), "{error}");
    assert_eq!(found(&service, "mint blue").await, [""; 0]);
}

#[tokio::test]
async fn s80_events_without_session_stand_together() {
    let place = Place::new();
    let service = place.open().await;
    for req in [
        AddEvents::new("app", "u1", vec![event("e1", 1.0, "tea")]),
        AddEvents::new("app", "u1", vec![event("e1", 1.0, "tea")]).with_session(""),
    ] {
        service.add_events_to_memory(req).await.expect("added");
    }
    let memories = search(&service, "tea").await;
    let places: Vec<_> = memories.iter().map(|memory| &memory.custom_metadata["session_id"]).collect();
    assert_eq!(places, ["__unknown_session_id__"]);
}

/// 80,000 words took 15 seconds, so only the first thousand are searched for.
#[tokio::test]
async fn a_query_has_at_most_a_thousand_words() {
    let place = Place::new();
    let memory = place.open().await;
    let words: Vec<String> = (0..80_000).map(|number| format!("w{number}")).collect();
    memory
        .add_session_to_memory(&session("s", vec![event("e1", 1.0, "w999"), event("e2", 2.0, "w1000")]))
        .await
        .unwrap();
    let found = memory.search_memory(SearchMemory::new("app", "u1", words.join(" "))).await.unwrap();
    assert_eq!(found.memories.len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_a_new_file() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/memory.db");
    pleach_memory_sqlite::SqliteMemoryService::open(&path).await.unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}
