//! The tables of the inbox: when they are created, what is read, and how they change.

use pleach_contract::sessions::{answers, asks, created, event, loaded};
use pleach_core::{Content, FunctionResponse, Part, SessionKey};
use pleach_session::{ListQuestions, SessionError, SessionService, SessionServiceExt as _};
use pleach_session_sqlite::SqliteSessionService;
use serde_json::json;

use super::{LAYOUTS, Place, key};

const OURS: &str = "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_master WHERE name LIKE 'pleach%'
        AND tbl_name <> 'sessions' ORDER BY name)";
const ALL: &str = "pleach_events_5 pleach_inbox_5 pleach_questions_5 pleach_questions_5_by_assignee \
                   pleach_questions_5_by_time pleach_searched_5";

async fn open(service: &dyn SessionService) -> Vec<String> {
    let found = service.list_questions(ListQuestions::new("app")).await.unwrap();
    found.items.into_iter().map(|item| item.question.id).collect()
}

async fn append(service: &dyn SessionService, key: &SessionKey, event: pleach_core::Event) {
    let mut session = loaded(service, key).await;
    service.append_event(&mut session, event).await.unwrap();
}

/// A session with a message and a question, and another one with an answered question.
async fn filled(place: &Place) -> SqliteSessionService {
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
async fn a_file_has_google_adks_layout_until_questions_are_listed() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = filled(&place).await;
        assert_eq!(place.text(OURS).await, "");
        assert_eq!(open(&service).await, ["s"]);
        assert_eq!(place.text(OURS).await, ALL);
        // Tables are not checked again while the file is open, and another service finds them complete.
        assert_eq!(open(&place.open().await).await, ["s"]);
    }
}

/// Plain events are not even parsed, and states are not read.
#[tokio::test]
async fn histories_and_states_are_not_read() {
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
async fn a_damaged_projection_is_created_again() {
    for damage in [
        "DROP TABLE pleach_questions_5",
        "DROP TABLE pleach_questions_5; DROP TABLE pleach_inbox_5",
        "DROP TABLE pleach_questions_5; DROP TABLE pleach_inbox_5; DROP TABLE pleach_events_5; DROP TABLE pleach_searched_5",
        "DROP TABLE pleach_searched_5",
        "DROP TABLE pleach_events_5",
        "DELETE FROM pleach_questions_5",
        "DELETE FROM pleach_inbox_5",
        "DELETE FROM pleach_searched_5",
        "UPDATE pleach_inbox_5 SET events = 7",
        "DROP TABLE pleach_questions_5; CREATE TABLE pleach_questions_5 (app_name TEXT)",
        "DROP TABLE pleach_inbox_5; CREATE TABLE pleach_inbox_5 (x TEXT)",
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

/// Rows that are deleted by hand, with or without our rows for them, are not listed.
#[tokio::test]
async fn rows_that_are_deleted_by_hand_are_not_listed() {
    let place = Place::new();
    let service = filled(&place).await;
    assert_eq!(open(&service).await, ["s"]);
    place.run("DELETE FROM events WHERE id = 'e3'").await;
    assert_eq!(open(&service).await, ["s", "t"]);
    place.run("PRAGMA foreign_keys = ON; DELETE FROM sessions WHERE id = 't'").await;
    assert_eq!(place.text("SELECT CAST(count(*) AS TEXT) FROM pleach_inbox_5").await, "1");
    assert_eq!(open(&service).await, ["s"]);
    place.run("PRAGMA foreign_keys = OFF; DELETE FROM sessions; DELETE FROM events").await;
    assert_eq!(open(&service).await, [""; 0]);
}

/// Objects of other versions are left alone, so that two versions do not undo each other's work. An object of our
/// version is recognised by its definition, not only by its name.
#[tokio::test]
async fn versions_side_by_side_leave_each_other_alone() {
    let place = Place::new();
    let service = filled(&place).await;
    place.run("CREATE TABLE pleach_inbox (x TEXT); CREATE INDEX pleach_events_1 ON events (app_name)").await;
    assert_eq!(open(&service).await, ["s"]);
    place
        .run("DROP INDEX pleach_questions_5_by_time; CREATE INDEX pleach_questions_5_by_time ON pleach_inbox (x)")
        .await;
    assert_eq!(open(&place.open().await).await, ["s"]);
    let table = "SELECT tbl_name FROM sqlite_master WHERE name = 'pleach_questions_5_by_time'";
    assert_eq!(place.text(table).await, "pleach_questions_5");
    assert_eq!(place.text("SELECT name FROM sqlite_master WHERE name = 'pleach_inbox'").await, "pleach_inbox");
    assert_eq!(place.text("SELECT name FROM sqlite_master WHERE name = 'pleach_events_1'").await, "pleach_events_1");
}

/// An index on google-adk's events would be created in one transaction over the whole file.
#[tokio::test]
async fn google_adks_events_get_no_index() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = filled(&place).await;
        assert_eq!(open(&service).await, ["s"]);
        let sql = "SELECT group_concat(DISTINCT tbl_name) FROM sqlite_master
             WHERE name LIKE 'pleach%' AND tbl_name NOT LIKE 'pleach%'";
        assert_eq!(place.text(sql).await, "sessions");
    }
}

/// If another program holds the file, the listing waits and then fails for now; it does not load every session instead.
#[tokio::test]
async fn a_busy_file_is_an_error_that_can_be_retried() {
    let place = Place::new();
    drop(filled(&place).await);
    let options = place.options().with_busy_timeout(std::time::Duration::from_millis(20));
    let service = SqliteSessionService::open_with(place.path(), options).await.unwrap();
    let mut other = place.raw().await;
    for made in [false, true] {
        sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
        let error = service.list_questions(ListQuestions::new("app")).await.unwrap_err();
        assert!(matches!(&error, SessionError::Locked { .. }), "{error}");
        sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
        assert_eq!(open(&service).await, if made { vec!["s", "again"] } else { vec!["s"] });
        if !made {
            append(&service, &key("t"), asks("e4", 4.0, "again", None)).await;
        }
    }
}

/// SQLite reuses the row numbers of deleted rows if they were the highest.
#[tokio::test]
async fn events_that_take_the_place_of_deleted_ones_are_found() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = filled(&place).await;
        for round in 0..3 {
            let [name, question] = ["x", "q"].map(|name| format!("{name}{round}"));
            created(&service, &key(&name), json!({})).await;
            for number in 0..4 {
                append(&service, &key(&name), event(&format!("{name}-{number}"), 3.0)).await;
            }
            let before = open(&service).await;
            service.delete_session(&key(&name)).await.unwrap();
            append(&service, &key("s"), asks(&question, 10.0 + f64::from(round), &question, None)).await;
            let after = open(&service).await;
            assert_eq!(after[..before.len()], before);
            assert_eq!(after[before.len()..], [question]);
        }
    }
}

/// The log is searched once, and the record of the search does not grow with the listings.
#[tokio::test]
async fn the_searched_part_of_the_log_is_not_searched_again() {
    let place = Place::new();
    let service = filled(&place).await;
    for number in 0..10 {
        append(&service, &key("s"), event(&format!("p{number}"), 20.0 + f64::from(number))).await;
        assert_eq!(open(&service).await, ["s"]);
    }
    assert_eq!(place.text("SELECT CAST(count(*) AS TEXT) FROM pleach_searched_5").await, "1");
    // A document that is changed after the search is not read again.
    place.run("UPDATE events SET event_data = replace(event_data, '\"e1\"', '\"e1_long_running_tool_ids\"') WHERE id = 'e1'").await;
    assert_eq!(open(&service).await, ["s"]);
    assert_eq!(place.text("SELECT CAST(sum(events) AS TEXT) FROM pleach_inbox_5").await, "3");
}

/// Only the events that matter are stored, and not the responses of tools to agents, however many there are.
#[tokio::test]
async fn events_that_matter_are_found_and_no_others() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = filled(&place).await;
        let result = FunctionResponse::new("call", "lookup", pleach_core::Map::new());
        let result = event("e3", 3.0).with_content(Content::new("user", [Part::function_response(result)]));
        append(&service, &key("s"), result).await;
        assert_eq!(open(&service).await, ["s"]);
        let counted = "SELECT CAST(sum(events) AS TEXT) FROM pleach_inbox_5";
        assert_eq!(place.text(counted).await, "3");
    }
}
