//! A database google-adk wrote, and what google-adk itself reads from it (S130, S131).

use pleach_core::{SessionKey, to_camel};
use pleach_session::{GetSessionConfig, ListSessions, SessionService as _, SessionServiceExt as _};
use pleach_session_postgres::PostgresSessionService;
use pleach_testkit::contract::{event, loaded};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgConnection};

use super::Place;

/// Plays a plain dump: statements, and rows behind `COPY … FROM stdin`.
pub(crate) async fn load(place: &Place) {
    let mut connection = place.raw().await;
    let mut lines = include_str!("../golden/adk_postgres.sql").lines();
    let mut statements = String::new();
    while let Some(line) = lines.next() {
        let line = line.replace("public.", &format!("{}.", place.schema));
        if !line.starts_with("COPY ") {
            statements.push_str(&line);
            statements.push('\n');
            continue;
        }
        run(&mut connection, std::mem::take(&mut statements)).await;
        let rows: Vec<&str> = lines.by_ref().take_while(|row| *row != "\\.").collect();
        let mut copy = connection.copy_in_raw(&line).await.unwrap();
        copy.send(rows.join("\n").into_bytes()).await.unwrap();
        copy.finish().await.unwrap();
    }
    run(&mut connection, statements).await;
}

async fn run(connection: &mut PgConnection, statements: String) {
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(connection).await.unwrap();
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

async fn check_filtered(service: &PostgresSessionService, entry: &Value) {
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
async fn check(service: &PostgresSessionService, section: &Value) {
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
async fn s131_a_database_of_google_adk_reads_as_google_adk_reads_it() {
    let Some(place) = Place::new().await else { return };
    load(&place).await;
    let service = place.open().await;
    let expected: Value = serde_json::from_str(include_str!("../golden/expected.json")).unwrap();
    check(&service, &expected["same_in_all_files"]).await;
    for entry in entries(&expected["differs"], "filtered") {
        check_filtered(&service, &entry["adk_postgres.sql"]).await;
    }
}

#[tokio::test]
async fn s131_its_sessions_are_appended_to() {
    let Some(place) = Place::new().await else { return };
    load(&place).await;
    let service = place.open().await;
    let mut session = loaded(&service, &SessionKey::new("shop", "alice", "s-chat")).await;
    let delta = event("ours", 99.0).with_state("step", 2).with_state("app:theme", "light").with_state("user:new", 1);
    service.append_event(&mut session, delta).await.unwrap();
    let back = loaded(&service, session.key()).await;
    assert_eq!(back, session);
    // What the delta does not name has still its digits.
    let exact = "SELECT (state -> 'big_int')::text FROM sessions WHERE user_id = 'alice' AND id = 's-chat' AND app_name = 'shop'";
    assert_eq!(place.texts(exact).await, ["9223372036854775807"]);
}
