//! Data that google-adk stores but that cannot be read here: only its session, its event or its state key is affected.

use pleach_contract::sessions::{asks, created, event, loaded};
use pleach_core::AppName;
use pleach_session::{
    GetSessionConfig, ListCursor, ListQuestions, ListSessions, ListSessionsResponse, Redaction, SessionError,
    SessionService, SessionServiceExt as _, walk_questions,
};
use pleach_session_sqlite::{ReadOnlySqliteSessionService, SqliteLayout};
use serde_json::json;

use super::{LAYOUTS, Place, key};

fn deep() -> String {
    format!("{}{}", "[".repeat(150), "]".repeat(150))
}

/// Returns a question with a payload, as google-adk writes it.
fn question(payload: &str) -> String {
    format!(
        "{{\"id\": \"odd\", \"invocation_id\": \"i\", \"author\": \"n\", \"timestamp\": 1760000001.0, \
         \"long_running_tool_ids\": [\"q\"], \"content\": {{\"role\": \"model\", \"parts\": [{{\"function_call\": {{\"id\": \"q\", \
         \"name\": \"adk_request_input\", \"args\": {{\"message\": \"?\", \"payload\": {payload}}}}}}}]}}}}"
    )
}

async fn open_questions(service: &dyn SessionService) -> Vec<String> {
    let listed = service.list_questions(ListQuestions::new("app")).await.unwrap();
    let walked = walk_questions(service, &ListQuestions::new("app")).await.unwrap();
    assert_eq!(listed, walked);
    listed.items.into_iter().map(|item| format!("{}/{}", item.session.session_id, item.question.id)).collect()
}

#[tokio::test]
async fn a_question_that_cannot_be_read_leaves_its_session_out_of_the_inbox() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = place.open().await;
        for id in ["a", "odd", "z"] {
            let mut session = created(&service, &key(id), json!({})).await;
            service.append_event(&mut session, asks("e1", 1.0, "ok", None)).await.unwrap();
        }
        for document in [question(&deep()), "{\"adk_request_\": damaged".to_owned()] {
            let sql = format!(
                "DELETE FROM events WHERE id = 'odd';
                INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)
                VALUES ('odd', 'app', 'user', 'odd', 'i', 1760000001.0, '{document}')"
            );
            place.run(&sql).await;
            for _ in 0..2 {
                assert_eq!(open_questions(&service).await, ["a/ok", "z/ok"], "{layout:?}");
            }
            let error = service.get_session(&key("odd"), GetSessionConfig::all()).await.unwrap_err();
            assert!(error.to_string().starts_with("event odd of session app/user/odd"), "{error}");
            assert!(service.get_session(&key("odd"), GetSessionConfig::recent(0)).await.unwrap().is_some());
        }
        // A listing has already found it readable.
        let sql = format!("UPDATE events SET event_data = '{}' WHERE session_id = 'z'", question(&deep()));
        place.run(&sql).await;
        assert_eq!(open_questions(&service).await, ["a/ok"], "{layout:?}");
    }
}

#[tokio::test]
async fn repairable_data_is_repaired_when_read_and_not_changed_in_the_file() {
    let big = "7".repeat(401);
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = place.open().await;
        created(&service, &key("s"), json!({})).await;
        for (payload, expected) in [
            (r#""\ud83d""#, json!("\u{fffd}")),
            (r#"["\u0000", NaN, -Infinity]"#, json!(["\u{fffd}", null, null])),
            (&*big, json!(big)),
            (r#"{"\udc00": "\ud83d\ude00"}"#, json!({"\u{fffd}": "😀"})),
        ] {
            let document = question(payload);
            let sql = format!(
                "DELETE FROM events;
                INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)
                VALUES ('odd', 'app', 'user', 's', 'i', 1760000001.0, '{document}')"
            );
            place.run(&sql).await;
            let listed = service.list_questions(ListQuestions::new("app")).await.unwrap().items;
            assert_eq!(listed[0].question.payload, Some(expected), "{layout:?}");
            loaded(&service, &key("s")).await;
            assert_eq!(place.text("SELECT event_data FROM events").await, document);
        }
    }
}

#[tokio::test]
async fn a_redaction_keeps_the_bytes_of_other_values() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = place.open().await;
        let mut session = created(&service, &key("s"), json!({})).await;
        let stored = event("e1", 1.0).with_output(json!({"card": "4111", "odd": 1}));
        service.append_event(&mut session, stored).await.unwrap();
        place.run(r#"UPDATE events SET event_data = replace(event_data, '"odd":1', '"odd":["\ud83d", NaN]')"#).await;
        let redaction = Redaction::new(["/output/card"], "r").with_time(1_760_000_009.0);
        service.redact(session.key(), &"e1".into(), &redaction).await.unwrap();
        let document = place.text("SELECT event_data FROM events").await;
        assert!(document.contains(r#"{"card":"[redacted]","odd":["\ud83d", NaN]}"#), "{document}");
    }
}

#[tokio::test]
async fn a_state_key_that_cannot_be_read_is_kept_byte_for_byte_until_it_is_set() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = place.open().await;
        created(&service, &key("s"), json!({"app:a": 1, "user:u": 1})).await;
        let odd = format!(r#"{{"good":1,"deep":{},"half":"\ud800","k\udc00":[NaN]}}"#, deep());
        for table in ["sessions", "app_states", "user_states"] {
            place.run(&format!("UPDATE {table} SET state = '{odd}'")).await;
        }
        let mut session = loaded(&service, &key("s")).await;
        assert_eq!(session.unreadable.keys().collect::<Vec<_>>(), ["app:deep", "deep", "user:deep"]);
        assert_eq!(session.state["app:half"], json!("\u{fffd}"));
        assert_eq!(session.state["k\u{fffd}"], json!([null]));
        let listed = service.list_sessions(ListSessions::new("app")).await.unwrap();
        assert_eq!(listed.sessions[0].unreadable, session.unreadable);
        assert_eq!(service.app_state(&AppName::from("app")).await.unwrap().len(), 3);
        assert_eq!(service.user_state(&"app".into(), &"user".into()).await.unwrap()["good"], json!(1));

        let write = event("e1", 1.0).with_state("n", 1).with_state("app:n", 1).with_state("user:n", 1);
        service.append_event(&mut session, write).await.unwrap();
        created(&service, &key("t"), json!({"app:n": 2, "user:n": 2})).await;
        for (table, n) in [("sessions WHERE id = 's'", 1), ("app_states", 2), ("user_states", 2)] {
            let state = place.text(&format!("SELECT state FROM {table}")).await;
            for member in odd[1..odd.len() - 1].split(",\"") {
                assert!(state.contains(member), "{layout:?} {table}: {member} in {state}");
            }
            assert!(state.contains(&format!("\"n\":{n}")), "{state}");
        }
        // An operation needs the value; setting the key does not.
        let op = |op| event("e2", 2.0).with_state_op("deep", op);
        let before = session.clone();
        let error =
            service.append_event(&mut session, op(pleach_core::StateOp::Push(vec![json!(1)]))).await.unwrap_err();
        assert!(matches!(&error, SessionError::StateOperation { state_key, .. } if state_key == "deep"), "{error}");
        assert_eq!(session, before);
        service.append_event(&mut session, event("e2", 2.0).with_state("deep", 5)).await.unwrap();
        assert_eq!(session.unreadable.keys().collect::<Vec<_>>(), ["app:deep", "user:deep"]);
        let back = loaded(&service, &key("s")).await;
        assert_eq!((&back.state["deep"], back.unreadable.len()), (&json!(5), 2));
    }
}

/// Returns the ids of a listing that is read in pages.
async fn paged(service: &dyn SessionService, request: ListSessions, limit: usize) -> Vec<String> {
    let (mut ids, mut next) = (Vec::new(), Some(request.with_limit(limit)));
    while let Some(request) = next.take() {
        let ListSessionsResponse { sessions, next: cursor, .. } = service.list_sessions(request.clone()).await.unwrap();
        assert!(sessions.len() <= limit);
        ids.extend(sessions.iter().map(|session| session.id().to_string()));
        next = cursor.map(|cursor| request.with_after(cursor));
    }
    ids
}

#[tokio::test]
async fn sessions_with_times_of_every_kind_are_each_on_one_page() {
    let times = [
        ("bad-0", "'junk'"),
        ("bad-1", "x'00'"),
        ("bad-2", "'2025-13-01 00:00:00.000000'"),
        ("bad-3", "'2025-02-30 00:00:00.000000'"),
        ("t--", "-9e999"),
        ("t-0", "'0001-01-01 00:00:00.000000'"),
        ("t-1", "-5.5"),
        ("t-2", "'1970-01-01 00:00:01.000000'"),
        ("t-3", "1.000001"),
        ("t-4", "'2024-02-29 12:00:00.000000'"),
        ("t-5", "'2025-10-09 10:53:20+02:00'"),
        ("t-6", "1760000000"),
        ("t-7", "'2025-10-09 08:53:20.000001'"),
        ("t-8", "1e18"),
        ("t-9", "9e999"),
    ];
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = place.open().await;
        for (id, time) in times {
            let sql = format!("INSERT INTO sessions VALUES ('app', 'user', '{id}', '{{}}', {time}, {time})");
            place.run(&sql).await;
            place.run(&sql.replace("'app'", "'other'")).await;
        }
        let whole = service.list_sessions(ListSessions::new("app")).await.unwrap();
        let faults: Vec<_> = whole.faults.iter().map(|fault| fault.session.session_id.as_str()).collect();
        assert_eq!(faults, ["bad-0", "bad-1", "bad-2", "bad-3"], "{layout:?}");
        let ids: Vec<String> = whole.sessions.iter().map(|session| session.id().to_string()).collect();
        // Without a time they are listed at the beginning of the epoch.
        let expected = [
            &["t--", "t-0", "t-1", "bad-0", "bad-1", "bad-2", "bad-3"][..],
            &["t-2", "t-3", "t-4", "t-5", "t-6", "t-7", "t-8", "t-9"],
        ]
        .concat();
        assert_eq!(ids, expected, "{layout:?}");
        for limit in [1, 2, 3, 5, 14, 15] {
            for request in [ListSessions::new("app"), ListSessions::new("app").with_user("user")] {
                assert_eq!(paged(&service, request, limit).await, expected, "{layout:?} {limit}");
            }
        }
        for (after, first) in [(1.000_000_5, "t-3"), (1_760_000_000.000_000_4, "t-7"), (f64::NEG_INFINITY, "t--")] {
            let cursor = ListCursor { update_time: after, user_id: "".into(), session_id: "".into() };
            let page = service.list_sessions(ListSessions::new("app").with_after(cursor).with_limit(1)).await.unwrap();
            assert_eq!(page.sessions[0].id().as_str(), first, "{layout:?} {after}");
        }
        service.close().await.unwrap();
        // Without our indexes, as in another program's file.
        for index in ["by_time", "of_user", "by_id", "odd"] {
            place.run(&format!("DROP INDEX pleach_sessions_1_{index}")).await;
        }
        let reader = ReadOnlySqliteSessionService::open(place.path(), place.options()).await.unwrap();
        assert_eq!(paged(&reader, ListSessions::new("app"), 3).await, expected, "{layout:?}");
        // Opening for writing creates them again.
        place.open().await.close().await.unwrap();
        let indexes = "SELECT CAST(count(*) AS TEXT) FROM sqlite_master WHERE name LIKE 'pleach_sessions_1_%'";
        assert_eq!(place.text(indexes).await, "4");
    }
}

/// SQLite's JSON functions end a text at U+0000.
#[tokio::test]
async fn a_user_with_a_nul_in_the_name_is_listed() {
    for layout in [SqliteLayout::Lite, SqliteLayout::V1] {
        let place = Place::of(layout);
        let service = place.open().await;
        created(&service, &key("s"), json!({"user:k": 1})).await;
        place.run("INSERT INTO sessions VALUES ('app', 'a' || char(0) || 'b', 'n', '{}', 1.0, 1.0)").await;
        assert_eq!(paged(&service, ListSessions::new("app"), 1).await, ["n", "s"], "{layout:?}");
    }
}
