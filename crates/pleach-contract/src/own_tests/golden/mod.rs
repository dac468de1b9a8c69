//! The values that google-adk itself read from the databases it wrote, for comparison with a service.
// S130

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a comparison fails")]

use pleach_core::{SessionKey, to_camel};
use pleach_session::{GetSessionConfig, ListSessions, SessionService};
use serde_json::{Value, json};

/// Returns the recorded values that google-adk read.
pub fn expected() -> Value {
    serde_json::from_str(include_str!("expected.json")).unwrap()
}

/// Compares everything that a service reads from one of the three golden databases with what google-adk read. `file` is
/// the database's name in the record.
pub async fn check_file(service: &dyn SessionService, file: &str) {
    let expected = expected();
    check(service, &expected["same_in_all_files"]).await;
    for entry in entries(&expected["differs"], "filtered") {
        check_filtered(service, &entry[file]).await;
    }
}

/// Compares everything that a service reads with one section of the record.
pub async fn check(service: &dyn SessionService, section: &Value) {
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

async fn check_filtered(service: &dyn SessionService, entry: &Value) {
    let wanted = &entry["config"];
    let config = GetSessionConfig {
        num_recent_events: wanted["num_recent_events"].as_u64().map(|count| usize::try_from(count).unwrap()),
        after_timestamp: wanted["after_timestamp"].as_f64(),
    };
    let session = service.get_session(&key_of(entry), config).await.unwrap().unwrap();
    let ids: Vec<_> = session.events.iter().map(|event| event.id().to_string()).collect();
    assert_eq!(json!(ids), entry["event_ids"], "{entry}");
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
