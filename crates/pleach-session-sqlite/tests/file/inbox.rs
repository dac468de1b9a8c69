//! The tables of the inbox: when they are made, what is read, and what becomes of them.

use pleach_core::{Content, FunctionResponse, Part, SessionKey};
use pleach_session::{ListQuestions, SessionService, SessionServiceExt as _};
use pleach_testkit::contract::{answers, asks, created, event, loaded};
use serde_json::json;

use super::{LAYOUTS, Place, key};

const OURS: &str =
    "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_master WHERE name LIKE 'pleach%' ORDER BY name)";
const ALL: &str = "pleach_events_1 pleach_inbox pleach_questions pleach_questions_by_assignee pleach_questions_by_time";

async fn open(service: &dyn SessionService) -> Vec<String> {
    let found = service.list_questions(ListQuestions::new("app")).await.unwrap();
    found.items.into_iter().map(|item| item.question.id).collect()
}

async fn append(service: &dyn SessionService, key: &SessionKey, event: pleach_core::Event) {
    let mut session = loaded(service, key).await;
    service.append_event(&mut session, event).await.unwrap();
}

/// A session with a message and a question, and another one with an answered question.
async fn filled(place: &Place) -> pleach_session_sqlite::SqliteSessionService {
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
async fn a5_a_file_has_google_adks_layout_until_questions_are_listed() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = filled(&place).await;
        assert_eq!(place.text(OURS).await, "");
        assert_eq!(open(&service).await, ["s"]);
        assert_eq!(place.text(OURS).await, ALL);
        // An open file is not looked at again, and another service finds it complete.
        assert_eq!(open(&place.open().await).await, ["s"]);
    }
}

/// Plain events are not even parsed, and no state is.
#[tokio::test]
async fn a5_histories_and_states_are_not_read() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = filled(&place).await;
        place
            .run("UPDATE events SET event_data = '{damaged' WHERE id = 'e1'; UPDATE sessions SET state = '{damaged'")
            .await;
        for _ in 0..2 {
            assert_eq!(open(&service).await, ["s"]);
        }
        assert!(service.get_session(&key("s"), pleach_session::GetSessionConfig::all()).await.is_err());
    }
}

#[tokio::test]
async fn a5_a_damaged_projection_is_made_again() {
    for damage in [
        "DROP TABLE pleach_questions",
        "DROP TABLE pleach_questions; DROP TABLE pleach_inbox",
        "DROP INDEX pleach_events_1",
        "DELETE FROM pleach_questions",
        "DELETE FROM pleach_inbox",
        "UPDATE pleach_inbox SET projection = 0; UPDATE pleach_questions SET event_id = 'e1'",
        "UPDATE pleach_inbox SET events = 7",
        "DROP TABLE pleach_questions; CREATE TABLE pleach_questions (app_name TEXT)",
        "DROP TABLE pleach_inbox; CREATE TABLE pleach_inbox (x TEXT)",
        "VACUUM",
    ] {
        let place = Place::new();
        let service = filled(&place).await;
        assert_eq!(open(&service).await, ["s"]);
        place.run(damage).await;
        assert_eq!(open(&service).await, ["s"], "{damage}");
        assert_eq!(place.text(OURS).await, ALL, "{damage}");
        append(&service, &key("t"), asks("e4", 4.0, "again", None)).await;
        assert_eq!(open(&service).await, ["s", "again"], "{damage}");
    }
}

/// What is deleted by hand, with its rows of ours or without, is not listed.
#[tokio::test]
async fn a5_rows_that_are_deleted_by_hand_are_not_listed() {
    let place = Place::new();
    let service = filled(&place).await;
    assert_eq!(open(&service).await, ["s"]);
    place.run("DELETE FROM events WHERE id = 'e3'").await;
    assert_eq!(open(&service).await, ["s", "t"]);
    place.run("PRAGMA foreign_keys = ON; DELETE FROM sessions WHERE id = 't'").await;
    assert_eq!(place.text("SELECT CAST(count(*) AS TEXT) FROM pleach_inbox").await, "1");
    assert_eq!(open(&service).await, ["s"]);
    place.run("PRAGMA foreign_keys = OFF; DELETE FROM sessions; DELETE FROM events").await;
    assert_eq!(open(&service).await, [""; 0]);
}

/// The index has the events that matter: not what tools give to agents, whatever their number.
#[tokio::test]
async fn a5_the_index_has_the_events_that_matter() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = filled(&place).await;
        let result = FunctionResponse::new("call", "lookup", pleach_core::Map::new());
        let result = event("e3", 3.0).with_content(Content::new("user", [Part::function_response(result)]));
        append(&service, &key("s"), result).await;
        assert_eq!(open(&service).await, ["s"]);
        let counted = "SELECT CAST(sum(events) AS TEXT) FROM pleach_inbox";
        assert_eq!(place.text(counted).await, "3");
    }
}
