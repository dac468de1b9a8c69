//! Files google-adk wrote, and what google-adk itself reads from them (S130, S131).

use pleach_core::{SessionKey, to_camel};
use pleach_session::{GetSessionConfig, ListSessions, SessionService as _, SessionServiceExt as _};
use pleach_session_sqlite::SqliteSessionService;
use pleach_testkit::contract::{event, loaded};
use serde_json::{Value, json};

use super::{Place, key};

async fn copy_of(file: &[u8]) -> (SqliteSessionService, Place) {
    let place = Place::new();
    std::fs::write(place.path(), file).unwrap();
    (place.open().await, place)
}

fn expected() -> Value {
    serde_json::from_str(include_str!("../golden/expected.json")).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn key_of(entry: &Value) -> SessionKey {
    SessionKey::new(text(&entry["app"]), text(&entry["user"]), text(&entry["id"]))
}

fn entries<'v>(section: &'v Value, name: &str) -> &'v [Value] {
    section[name].as_array().unwrap()
}

async fn check_filtered(service: &SqliteSessionService, entry: &Value) {
    let wanted = &entry["config"];
    let config = GetSessionConfig {
        num_recent_events: wanted["num_recent_events"].as_u64().map(|count| usize::try_from(count).unwrap()),
        after_timestamp: wanted["after_timestamp"].as_f64(),
    };
    let session = service.get_session(&key_of(entry), config).await.unwrap().unwrap();
    let ids: Vec<_> = session.events.iter().map(|event| event.id().to_string()).collect();
    assert_eq!(json!(ids), entry["event_ids"], "{entry}");
}

/// Compares everything the service can read with one section of what google-adk read.
async fn check(service: &SqliteSessionService, section: &Value) {
    for entry in entries(section, "get_session") {
        let session = service.get_session(&key_of(entry), GetSessionConfig::all()).await.unwrap();
        let session = session.map(|session| to_camel(&session).unwrap());
        assert_eq!(session.unwrap_or_default(), entry["session"]);
    }
    for entry in entries(section, "list_sessions") {
        let mut request = ListSessions::new(text(&entry["app"]));
        request.user_id = entry["user"].as_str().map(Into::into);
        let listed = service.list_sessions(request).await.unwrap().sessions;
        let listed: Vec<_> = listed.iter().map(|session| to_camel(session).unwrap()).collect();
        assert_eq!(json!(listed), entry["sessions"]);
    }
    for entry in entries(section, "user_state") {
        let (app, user) = (text(&entry["app"]).into(), text(&entry["user"]).into());
        let state = service.user_state(&app, &user).await.unwrap();
        assert_eq!(json!(state), entry["state"]);
    }
    for entry in entries(section, "filtered") {
        check_filtered(service, entry).await;
    }
}

#[tokio::test]
async fn s131_a_lite_file_of_google_adk_reads_as_google_adk_reads_it() {
    let (service, _place) = copy_of(include_bytes!("../golden/lite.sqlite")).await;
    let expected = expected();
    check(&service, &expected["same_in_all_files"]).await;
    for entry in entries(&expected["differs"], "filtered") {
        check_filtered(&service, &entry["adk_sqlite_service.db"]).await;
    }
}

#[tokio::test]
async fn s66_4_a_file_both_services_of_google_adk_wrote_is_read_and_repaired() {
    let (service, place) = copy_of(include_bytes!("../golden/mixed.sqlite")).await;
    check(&service, &expected()["special_files"]["adk_mixed.db"]).await;
    let mut session = loaded(&service, &SessionKey::new("mixed", "u1", "s1")).await;
    service.append_event(&mut session, event("m-3", 9.0)).await.unwrap();
    assert_eq!(loaded(&service, session.key()).await, session);
    let types = "SELECT group_concat(DISTINCT typeof(timestamp)) FROM events";
    assert_eq!(place.text(types).await, "real");
    assert_eq!(service.get_session(&key("none"), GetSessionConfig::all()).await.unwrap(), None);
}
