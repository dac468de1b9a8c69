//! Rules of the in-memory service.
// S80, S81

use std::sync::Arc;

use pleach_core::{Content, Event, Map, Part, Session, SessionKey};
use pleach_memory::{
    AddEvents, AddMemory, DeleteMemory, InMemoryMemoryService, MemoryEntry, MemoryService, SearchMemory,
};
use serde_json::json;

fn event(id: &str, text: &str) -> Arc<Event> {
    let mut event = Event::message(text).with_author("user");
    event.set_id(id);
    event.set_timestamp(1_760_000_000.0);
    Arc::new(event)
}

fn session(id: &str, events: Vec<Arc<Event>>) -> Session {
    Session::from_parts(SessionKey::new("app", "u1", id), Map::new(), events, 1.0)
}

async fn memory(sessions: &[Session]) -> InMemoryMemoryService {
    let service = InMemoryMemoryService::new();
    for session in sessions {
        service.add_session_to_memory(session).await.expect("remembered");
    }
    service
}

/// Returns the ids that were found, in order.
async fn found(service: &InMemoryMemoryService, query: &str) -> Vec<String> {
    let response = service.search_memory(SearchMemory::new("app", "u1", query)).await;
    let memories = response.expect("searched").memories;
    memories.into_iter().filter_map(|memory| memory.id).collect()
}

#[tokio::test]
async fn s80_an_entry_tells_who_said_what_and_when() {
    let service = memory(&[session("s", vec![event("e1", "I like tea")])]).await;
    let response = service.search_memory(SearchMemory::new("app", "u1", "tea")).await;
    let memories = response.expect("searched").memories;
    let [entry] = &memories[..] else {
        panic!("one entry, not {memories:?}");
    };
    assert_eq!(entry.content, Content::user("I like tea"));
    assert_eq!((entry.id.as_deref(), entry.author.as_deref()), (Some("e1"), Some("user")));
    let timestamp = entry.timestamp.as_deref().expect("a time");
    assert!(timestamp.starts_with("2025-10-") && timestamp.len() == "2025-10-09T08:53:20".len());
    assert_eq!(
        serde_json::to_value(entry).expect("JSON"),
        json!({
            "content": {"parts": [{"text": "I like tea"}], "role": "user"},
            "custom_metadata": {},
            "id": "e1",
            "author": "user",
            "timestamp": timestamp,
        })
    );
}

#[tokio::test]
async fn s80_adding_a_session_replaces_its_earlier_events() {
    let service = memory(&[
        session("s", vec![event("e1", "tea"), event("e2", "tea")]),
        session("t", vec![event("e3", "tea")]),
        session("s", vec![event("e4", "tea")]),
    ])
    .await;
    assert_eq!(found(&service, "tea").await, ["e4", "e3"]);
}

#[tokio::test]
async fn s80_added_events_join_and_known_ids_are_skipped() {
    let service = memory(&[session("s", vec![event("e1", "tea")])]).await;
    let metadata = json!({"ttl": 5}).as_object().cloned().expect("an object");
    let events = vec![event("e1", "tea again"), event("e2", "tea")];
    let req = AddEvents::new("app", "u1", events.clone()).with_session("s").with_custom_metadata(metadata.clone());
    service.add_events_to_memory(req).await.expect("remembered");
    assert_eq!(found(&service, "tea").await, ["e1", "e2"]);
    assert_eq!(found(&service, "again").await, [""; 0]);
    service.add_events_to_memory(AddEvents::new("app", "u1", events)).await.expect("remembered");
    assert_eq!(found(&service, "tea").await, ["e1", "e2", "e1", "e2"]);
    let response = service.search_memory(SearchMemory::new("app", "u1", "tea")).await;
    assert_eq!(response.expect("searched").memories[1].custom_metadata, metadata);
}

#[tokio::test]
async fn s80_only_events_with_parts_are_stored() {
    let silent = Arc::new(Event::of("tea"));
    let empty = Arc::new(Event::new().with_content(Content::new("user", [])));
    let picture = Arc::new(Event::message(Part::bytes("image/png", vec![1])));
    let service = memory(&[session("s", vec![silent, empty, picture, event("e1", "tea")])]).await;
    assert_eq!(found(&service, "tea").await, ["e1"]);
}

#[tokio::test]
async fn s80_a_memory_belongs_to_a_user_of_an_app() {
    let service = memory(&[session("s", vec![event("e1", "tea")])]).await;
    for (app, user) in [("app", "u2"), ("app2", "u1")] {
        let response = service.search_memory(SearchMemory::new(app, user, "tea")).await;
        assert_eq!(response.expect("searched").memories, []);
    }
}

#[tokio::test]
async fn s80_direct_entries_are_found_replaced_by_id_and_removed() {
    let service = memory(&[session("s", vec![event("e1", "tea")])]).await;
    let object = |value: serde_json::Value| value.as_object().cloned().expect("an object");
    let named = |text: &str| MemoryEntry {
        id: Some("m1".into()),
        author: Some("ann".into()),
        custom_metadata: object(json!({"source": "form"})),
        ..MemoryEntry::new(Content::user(text))
    };
    let add = |entries: Vec<MemoryEntry>| {
        let metadata = object(json!({"source": "import", "ttl": 5}));
        service.add_memory(AddMemory::new("app", "u1", entries).with_custom_metadata(metadata))
    };
    add(vec![named("green tea"), MemoryEntry::new(Content::user("black tea"))]).await.expect("stored");
    let entries = async || service.search_memory(SearchMemory::new("app", "u1", "tea")).await.expect("found").memories;
    let found_first = entries().await;
    assert_eq!(found_first[0].id.as_deref(), Some("e1"));
    assert_eq!(found_first[1].custom_metadata, object(json!({"source": "form", "ttl": 5})));
    assert_eq!(found_first[2].custom_metadata, object(json!({"source": "import", "ttl": 5})));
    // Adding the same entry again changes nothing, and an entry with a known id replaces the stored one.
    add(vec![named("white tea"), MemoryEntry::new(Content::user("black tea"))]).await.expect("stored");
    assert_eq!(entries().await.len(), 3);
    assert_eq!(found(&service, "green").await, [""; 0]);
    // An entry that was removed can be added again.
    for _ in 0..2 {
        service.delete_memory(DeleteMemory::new("app", "u1", "m1")).await.expect("removed");
        assert_eq!(found(&service, "white").await, [""; 0]);
        add(vec![named("white tea")]).await.expect("stored");
        assert_eq!(found(&service, "white").await, ["m1"]);
    }
    // An entry with an event's id replaces the event, even if its session is added again.
    let edited = MemoryEntry { id: Some("e1".into()), ..MemoryEntry::new(Content::user("mint tea")) };
    add(vec![edited]).await.expect("stored");
    service.add_session_to_memory(&session("s", vec![event("e1", "tea")])).await.expect("added");
    assert_eq!(found(&service, "tea").await.iter().filter(|id| *id == "e1").count(), 1);
    assert_eq!(found(&service, "mint").await, ["e1"]);
    // An entry without text is not found.
    add(vec![MemoryEntry::default()]).await.expect("nothing to store");
    assert_eq!(entries().await.len(), 3);
}

#[tokio::test]
async fn s81_whole_words_match_in_any_case() {
    let service = memory(&[session("s", vec![event("e1", "The Quick fox")])]).await;
    assert_eq!(found(&service, "QUICK").await, ["e1"]);
    for nothing in ["quic", "uick", "", "  ", "?!"] {
        assert_eq!(found(&service, nothing).await, [""; 0], "{nothing}");
    }
}

#[tokio::test]
async fn s81_scripts_without_blanks_match_inside() {
    let service = memory(&[session("s", vec![event("e1", "私はPythonを使う"), event("e2", "Cafe\u{301}s")])]).await;
    assert_eq!(found(&service, "python").await, ["e1"]);
    assert_eq!(found(&service, "使う").await, ["e1"]);
    assert_eq!(found(&service, "thon").await, [""; 0]);
    assert_eq!(found(&service, "café").await, ["e2"]);
}

#[tokio::test]
async fn s81_parts_are_joined_by_a_blank() {
    let content = Content::new("user", [Part::text("black"), Part::text(""), Part::text("tea")]);
    let mut event = Event::new().with_content(content);
    event.set_id("e1");
    let service = memory(&[session("s", vec![Arc::new(event)])]).await;
    assert_eq!(found(&service, "tea").await, ["e1"]);
    assert_eq!(found(&service, "blacktea").await, [""; 0]);
}

#[tokio::test]
async fn s81_best_matches_come_first_and_ten_at_most() {
    let mut events: Vec<_> = (0..12).map(|n| event(&format!("e{n}"), "tea tea")).collect();
    events.push(event("best", "green tea"));
    let service = memory(&[session("s", events)]).await;
    let ids = found(&service, "green tea tea").await;
    assert_eq!(ids.len(), 10);
    assert_eq!(ids[..3], ["best", "e0", "e1"]);
}

#[tokio::test]
async fn s81_forgotten_entries_stay_forgotten() {
    let events = vec![event("e1", "tea"), event("e2", "tea")];
    let service = memory(&[session("s", events.clone())]).await;
    let forget = |id: &str| service.delete_memory(DeleteMemory::new("app", "u1", id));
    forget("e1").await.expect("forgotten");
    forget("").await.expect("nothing to forget");
    forget("e9").await.expect("nothing to forget");
    assert_eq!(found(&service, "tea").await, ["e2"]);
    service.add_session_to_memory(&session("s", events.clone())).await.expect("remembered");
    let again = AddEvents::new("app", "u1", events).with_session("s");
    service.add_events_to_memory(again).await.expect("remembered");
    assert_eq!(found(&service, "tea").await, ["e2"]);
    service.add_session_to_memory(&session("s", vec![event("e9", "tea")])).await.expect("remembered");
    assert_eq!(found(&service, "tea").await, ["e9"]);
}
