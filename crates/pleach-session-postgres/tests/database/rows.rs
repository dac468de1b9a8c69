//! Rows that other programs may leave, and values that the columns cannot hold.

use pleach_contract::sessions::{CREATED, asks, chain, created, event, loaded};
use pleach_core::{Revision, SessionHead, SessionKey};
use pleach_session::{
    CreateSession, GetSessionConfig, ListCursor, ListQuestions, ListSessions, Redaction, SessionError,
    SessionService as _, SessionServiceExt as _, Since, walk_questions,
};
use serde_json::json;

use super::{Database, key};

#[tokio::test]
async fn case_64_65_values_that_a_column_cannot_hold_are_named() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
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
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({"user:gone": 1})).await;
    let rows = "SELECT app_name::text FROM app_states UNION ALL SELECT user_id::text FROM user_states ORDER BY 1";
    // S65: both rows exist from the start.
    assert_eq!(database.texts(rows).await, ["app", "user"]);
    database.run("DELETE FROM app_states; DELETE FROM user_states").await;
    service.append_event(&mut session, event("e1", 1.0).with_state("own", 1)).await.unwrap();
    assert!(database.texts(rows).await.is_empty());
    service.append_event(&mut session, event("e2", 2.0).with_state("app:a", 1)).await.unwrap();
    assert_eq!(database.texts(rows).await, ["app"]);
    service.append_event(&mut session, event("e3", 3.0).with_state("user:u", 1)).await.unwrap();
    assert_eq!(database.texts(rows).await, ["app", "user"]);
}

#[tokio::test]
async fn case_74_75_76_77_columns_fill_and_override_documents() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    for number in 1..=3 {
        service.append_event(&mut session, event(&format!("e{number}"), f64::from(number))).await.unwrap();
    }
    database
        .run("UPDATE events SET event_data = NULL WHERE id = 'e1'; UPDATE events SET event_data = '{}' WHERE id = 'e2'")
        .await;
    database
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
async fn case_88_s32_a_state_that_is_no_object_is_damaged_and_named() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    for (table, whose, delta) in [
        ("sessions", "session app/user/s", "k"),
        ("app_states", "app app", "app:k"),
        ("user_states", "user app/user", "user:k"),
    ] {
        for bad in ["null", "[]", "\"\"", "1"] {
            let mut session = created(&service, &key("s"), json!({})).await;
            database.run(&format!("UPDATE {table} SET state = '{bad}'")).await;
            let error = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err();
            assert!(matches!(&error, SessionError::Corrupt { what, .. } if what.contains(whose)), "{error}");
            let listed = service.list_sessions(ListSessions::new("app")).await.unwrap();
            let [fault] = &*listed.faults else { panic!("{:?}", listed.faults) };
            assert_eq!((listed.sessions.len(), &fault.session), (1, session.key()));
            assert!(matches!(&*fault.error, SessionError::Corrupt { what, .. } if what.contains(whose)), "{fault:?}");
            let listed = service.list_sessions(ListSessions::new("app").without_state()).await.unwrap();
            assert_eq!((listed.sessions.len(), listed.sessions[0].state.len()), (1, 0));
            let before = session.clone();
            let error = service.append_event(&mut session, event("e1", 1.0).with_state(delta, 1)).await.unwrap_err();
            assert!(matches!(&error, SessionError::Corrupt { what, .. } if what.contains(whose)), "{error}");
            assert_eq!(session, before);
            database.run(&format!("UPDATE {table} SET state = '{{}}'")).await;
            assert_eq!(loaded(&service, &key("s")).await, before);
            service.delete_session(&key("s")).await.unwrap();
        }
    }
}

#[tokio::test]
async fn case_85_damaged_events_and_times_are_named() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    database.run("UPDATE events SET event_data = '{\"actions\": null}'").await;
    let error = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err();
    assert!(chain(&error).contains("event e1 of session app/user/s"), "{}", chain(&error));
    database.run("DELETE FROM events; UPDATE sessions SET update_time = 'infinity'").await;
    let error = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err();
    assert!(chain(&error).contains("update time of session app/user/s"), "{}", chain(&error));
}

/// Data that google-adk stores but that cannot be read here: in jsonb this can only be large numbers and deep values.
#[tokio::test]
async fn an_odd_session_does_not_hide_the_others() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    for id in ["a", "odd", "z"] {
        let mut session = created(&service, &key(id), json!({"app:a": 1, "user:u": 1})).await;
        service.append_event(&mut session, asks("e1", 1.0, "ok", None)).await.unwrap();
    }
    let (big, deep) = ("9".repeat(401), format!("{}{}", "[".repeat(150), "]".repeat(150)));
    let state = format!("{{\"good\": 1, \"big\": {big}, \"deep\": {deep}}}");
    for table in ["sessions", "app_states", "user_states"] {
        database.run(&format!("UPDATE {table} SET state = '{state}'")).await;
    }
    let payload = |value: &str| {
        format!(
            "UPDATE events SET event_data = jsonb_set(event_data, '{{content,parts,0,function_call,args,payload}}', '{value}') WHERE session_id = 'odd'"
        )
    };
    let questions = async || {
        let listed = service.list_questions(ListQuestions::new("app")).await.unwrap();
        assert_eq!(listed, walk_questions(&service, &ListQuestions::new("app")).await.unwrap());
        listed.items.into_iter().map(|item| item.session.session_id.to_string()).collect::<Vec<_>>()
    };
    database.run(&payload(&big)).await;
    assert_eq!(questions().await, ["a", "odd", "z"]);
    database.run(&payload(&deep)).await;
    assert_eq!(questions().await, ["a", "z"]);
    let error = service.get_session(&key("odd"), GetSessionConfig::all()).await.unwrap_err();
    assert!(chain(&error).contains("event e1 of session app/user/odd"), "{}", chain(&error));

    let mut session = loaded(&service, &key("a")).await;
    assert_eq!((&session.state["good"], &session.state["app:big"]), (&json!(1), &json!(big)));
    assert_eq!(session.unreadable.keys().collect::<Vec<_>>(), ["app:deep", "deep", "user:deep"]);
    let write = event("e2", 2.0).with_state("n", 1).with_state("app:n", 1).with_state("user:n", 1);
    service.append_event(&mut session, write).await.unwrap();
    for table in ["sessions WHERE id = 'a'", "app_states", "user_states"] {
        let kept = database.texts(&format!("SELECT (state - 'n')::text FROM {table}")).await;
        assert_eq!(kept, database.texts(&format!("SELECT '{state}'::jsonb::text")).await);
    }

    database.run("UPDATE sessions SET update_time = '-infinity' WHERE id = 'odd'; UPDATE sessions SET update_time = 'infinity' WHERE id = 'z'").await;
    let (mut ids, mut faults, mut next) = (Vec::new(), Vec::new(), Some(ListSessions::new("app").with_limit(1)));
    while let Some(request) = next.take() {
        let page = service.list_sessions(request.clone()).await.unwrap();
        ids.extend(page.sessions.iter().map(|session| session.id().to_string()));
        faults.extend(page.faults.iter().map(|fault| fault.session.session_id.to_string()));
        next = page.next.map(|next| request.with_after(next));
    }
    assert_eq!((ids, faults), (["odd", "a", "z"].map(String::from).to_vec(), ["odd", "z"].map(String::from).to_vec()));
}

#[tokio::test]
async fn s62_times_are_stored_as_utc() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    service.append_event(&mut session, event("e1", 1.5)).await.unwrap();
    let times = "SELECT to_char(\"timestamp\", 'YYYY-MM-DD HH24:MI:SS.US') FROM events
        UNION ALL SELECT to_char(create_time, 'YYYY-MM-DD HH24:MI:SS.US') FROM sessions";
    assert_eq!(database.texts(times).await, ["2025-10-09 08:53:21.500000", "2025-10-09 08:53:20.000000"]);
}

/// No text column can hold U+0000, so such a name has no row, but causes no database error either.
#[tokio::test]
async fn case_62_nothing_is_stored_under_a_name_with_nul() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let session = created(&service, &key("s"), json!({"user:k": 1})).await;
    let (none, all) = ("a\0", GetSessionConfig::all);
    for strange in [SessionKey::new(none, "user", "s"), SessionKey::new("app", none, "s"), key(none)] {
        assert!(service.get_session(&strange, all()).await.unwrap().is_none());
        service.delete_session(&strange).await.unwrap();
        let mut head = SessionHead::new(strange.clone(), session.revision(), session.last_update_time());
        assert!(service.events_since(&head).await.unwrap().is_none());
        let error = service.append(&mut head, event("e1", 1.0).into()).await.unwrap_err();
        assert!(matches!(&error, SessionError::NotFound(key) if *key == strange), "{error}");
    }
    assert!(service.find_sessions(&none.into(), &"s".into()).await.unwrap().is_empty());
    assert!(service.find_sessions(&"app".into(), &none.into()).await.unwrap().is_empty());
    assert!(service.user_state(&none.into(), &"user".into()).await.unwrap().is_empty());
    assert!(service.user_state(&"app".into(), &none.into()).await.unwrap().is_empty());
    for request in [ListSessions::new(none), ListSessions::new("app").with_user(none)] {
        assert!(service.list_sessions(request).await.unwrap().sessions.is_empty());
    }
    let behind = ListCursor { update_time: 0.0, user_id: none.into(), session_id: none.into() };
    let page = service.list_sessions(ListSessions::new("app").with_after(behind)).await.unwrap();
    assert_eq!(page.sessions.len(), 1);
    assert_eq!(loaded(&service, &key("s")).await, session);
}

/// Cursors and heads come from outside, with any times.
#[tokio::test]
async fn times_that_no_column_can_hold_are_before_or_after_all_others() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    for (update_time, expected) in
        [(-1e300, 1), (f64::NEG_INFINITY, 1), (-1e12, 1), (1e12, 0), (1e300, 0), (f64::INFINITY, 0), (f64::NAN, 0)]
    {
        let after = ListCursor { update_time, user_id: "".into(), session_id: "".into() };
        let page = service.list_sessions(ListSessions::new("app").with_after(after)).await.unwrap();
        assert_eq!(page.sessions.len(), expected, "{update_time}");
    }
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    for (micros, ties) in [(i64::MIN, 0), (i64::MIN, 1), (i64::MAX, 0), (i64::MAX, u32::MAX)] {
        let strange = Revision::new(micros, ties);
        let mut head = SessionHead::new(key("s"), strange, f64::NAN);
        assert_eq!(service.events_since(&head).await.unwrap(), Some(Since::Unknown));
        let error = service.append(&mut head, event("e2", 2.0).into()).await.unwrap_err();
        let SessionError::Stale { stored, ours, .. } = error else { panic!("{error}") };
        assert_eq!((stored, ours), (session.revision(), strange));
        let mut gone = SessionHead::new(key("gone"), strange, 0.0);
        let error = service.append(&mut gone, event("e2", 2.0).into()).await.unwrap_err();
        assert!(matches!(error, SessionError::NotFound(_)), "{error}");
    }
    for after in [-1e300, -1e12, 1e300] {
        let back = service.get_session(&key("s"), GetSessionConfig::after(after)).await.unwrap().unwrap();
        assert_eq!(back.events.len(), usize::from(after < 0.0), "{after}");
    }
}

#[tokio::test]
async fn a_session_with_a_damaged_time_can_be_deleted() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    created(&service, &key("s"), json!({})).await;
    database.run("UPDATE sessions SET create_time = 'infinity', update_time = 'infinity'").await;
    service.delete_session(&key("s")).await.unwrap();
    assert!(service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap().is_none());
}

/// Integers that reading would round keep their digits if they are not redacted.
#[tokio::test]
async fn integers_of_other_programs_keep_their_digits_in_a_redaction() {
    const BIG: &str = "123456789012345678901234567890";
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    let stored = event("e1", 1.0).with_output(json!({"card": "4111", "big": 1}));
    service.append_event(&mut session, stored).await.unwrap();
    database.run(&format!("UPDATE events SET event_data = jsonb_set(event_data, '{{output,big}}', '{BIG}')")).await;
    let redaction = Redaction::new(["/output/card"], "r").with_time(CREATED + 9.0);
    service.redact(&key("s"), &"e1".into(), &redaction).await.unwrap();
    assert_eq!(
        database.texts("SELECT event_data->>'output' FROM events").await,
        [format!(r#"{{"big": {BIG}, "card": "[redacted]"}}"#)]
    );
}
