//! Rows other programs may leave, and values the columns cannot hold.

use pleach_session::{CreateSession, GetSessionConfig, SessionError, SessionService as _, SessionServiceExt as _};
use pleach_testkit::contract::{CREATED, chain, created, event, loaded};
use serde_json::json;

use super::{Place, key};

#[tokio::test]
async fn case_64_65_what_a_column_cannot_hold_is_named() {
    let Some(place) = Place::new().await else { return };
    let service = place.open().await;
    let long = "ä".repeat(129);
    let error = service.create_session(CreateSession::new("app", long.as_str())).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unstorable { field, .. } if field == "user_id"), "{error}");
    let error = service.create_session(CreateSession::new("app", "user").with_create_time(1e12)).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unstorable { field, .. } if field == "create_time"), "{error}");

    let mut session = created(&service, &key(&"ä".repeat(128)), json!({})).await;
    let error = service.append_event(&mut session, event(&long, 1.0)).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unstorable { field, .. } if field == "id"), "{error}");
    let mut wordy = event("e1", 1.0);
    wordy.set_invocation_id("x".repeat(257));
    let error = service.append_event(&mut session, wordy).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unstorable { field, .. } if field == "invocation_id"), "{error}");
    assert_eq!(loaded(&service, session.key()).await, session);
}

#[tokio::test]
async fn u5_missing_state_rows_are_made_when_they_are_needed() {
    let Some(place) = Place::new().await else { return };
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({"user:gone": 1})).await;
    let rows = "SELECT app_name::text FROM app_states UNION ALL SELECT user_id::text FROM user_states ORDER BY 1";
    // S65: both are there from the start.
    assert_eq!(place.texts(rows).await, ["app", "user"]);
    place.run("DELETE FROM app_states; DELETE FROM user_states").await;
    service.append_event(&mut session, event("e1", 1.0).with_state("own", 1)).await.unwrap();
    assert!(place.texts(rows).await.is_empty());
    service.append_event(&mut session, event("e2", 2.0).with_state("app:a", 1)).await.unwrap();
    assert_eq!(place.texts(rows).await, ["app"]);
    service.append_event(&mut session, event("e3", 3.0).with_state("user:u", 1)).await.unwrap();
    assert_eq!(place.texts(rows).await, ["app", "user"]);
}

#[tokio::test]
async fn case_74_75_76_77_columns_fill_and_override_documents() {
    let Some(place) = Place::new().await else { return };
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    for number in 1..=3 {
        service.append_event(&mut session, event(&format!("e{number}"), f64::from(number))).await.unwrap();
    }
    place
        .run("UPDATE events SET event_data = NULL WHERE id = 'e1'; UPDATE events SET event_data = '{}' WHERE id = 'e2'")
        .await;
    place
        .run("UPDATE events SET event_data = event_data || '{\"id\": \"x\", \"invocation_id\": \"y\"}' WHERE id = 'e3'")
        .await;
    let back = loaded(&service, &key("s")).await;
    for (number, event) in back.events.iter().enumerate() {
        assert_eq!(event.id().to_string(), format!("e{}", number + 1));
        assert_eq!(event.invocation_id().as_str(), "inv-1");
        assert_eq!(event.timestamp(), CREATED + 1.0 + number as f64);
    }
}

#[tokio::test]
async fn case_88_a_state_that_is_no_object_is_damaged_and_named() {
    let Some(place) = Place::new().await else { return };
    let service = place.open().await;
    for (table, whose, delta) in [
        ("sessions", "session app/user/s", "k"),
        ("app_states", "app app", "app:k"),
        ("user_states", "user app/user", "user:k"),
    ] {
        for bad in ["null", "[]", "\"\"", "1"] {
            let mut session = created(&service, &key("s"), json!({})).await;
            place.run(&format!("UPDATE {table} SET state = '{bad}'")).await;
            let error = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err();
            assert!(matches!(&error, SessionError::Corrupt { what, .. } if what.contains(whose)), "{error}");
            let before = session.clone();
            let error = service.append_event(&mut session, event("e1", 1.0).with_state(delta, 1)).await.unwrap_err();
            assert!(matches!(&error, SessionError::Corrupt { what, .. } if what.contains(whose)), "{error}");
            assert_eq!(session, before);
            place.run(&format!("UPDATE {table} SET state = '{{}}'")).await;
            assert_eq!(loaded(&service, &key("s")).await, before);
            service.delete_session(&key("s")).await.unwrap();
        }
    }
}

#[tokio::test]
async fn case_85_damaged_events_and_times_are_named() {
    let Some(place) = Place::new().await else { return };
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    place.run("UPDATE events SET event_data = '{\"actions\": null}'").await;
    let error = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err();
    assert!(chain(&error).contains("event e1 of session app/user/s"), "{}", chain(&error));
    place.run("DELETE FROM events; UPDATE sessions SET update_time = 'infinity'").await;
    let error = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err();
    assert!(chain(&error).contains("update time of session app/user/s"), "{}", chain(&error));
}

#[tokio::test]
async fn s62_times_are_stored_as_utc() {
    let Some(place) = Place::new().await else { return };
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    service.append_event(&mut session, event("e1", 1.5)).await.unwrap();
    let times = "SELECT to_char(\"timestamp\", 'YYYY-MM-DD HH24:MI:SS.US') FROM events
        UNION ALL SELECT to_char(create_time, 'YYYY-MM-DD HH24:MI:SS.US') FROM sessions";
    assert_eq!(place.texts(times).await, ["2025-10-09 08:53:21.500000", "2025-10-09 08:53:20.000000"]);
}
