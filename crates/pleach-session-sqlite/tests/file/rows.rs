//! The rows as other programs see them, and rows that other programs left.

use pleach_contract::sessions::{CREATED, created, event, ids, loaded};
use pleach_core::SessionKey;
use pleach_session::{GetSessionConfig, ListSessions, SessionService as _, SessionServiceExt as _, Since};
use serde_json::json;

use super::{Place, key};
use pleach_session_sqlite::SqliteLayout;

#[tokio::test]
async fn s66_5_both_state_rows_are_made_and_only_deltas_change_them() {
    let place = Place::new();
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    let rows = "SELECT (SELECT app_name || state || update_time FROM app_states)
        || (SELECT app_name || user_id || state || update_time FROM user_states)";
    let untouched = "app{}1760000000.0appuser{}1760000000.0";
    assert_eq!(place.text(rows).await, untouched);
    service.append_event(&mut session, event("e1", 1.0).with_state("k", 1)).await.unwrap();
    created(&service, &key("t"), json!({"k": 1})).await;
    assert_eq!(place.text(rows).await, untouched);
    service.append_event(&mut session, event("e2", 2.0).with_state("user:k", 1)).await.unwrap();
    assert_eq!(place.text(rows).await, "app{}1760000000.0appuser{\"k\":1}1760000002.0");
    place.run("DELETE FROM app_states").await;
    service.append_event(&mut session, event("e3", 3.0).with_state("app:k", 1)).await.unwrap();
    assert!(place.text(rows).await.starts_with("app{\"k\":1}1760000003.0"));
}

#[tokio::test]
async fn s41_s46_documents_and_columns_say_the_same() {
    let place = Place::new();
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    service.append_event(&mut session, event("e1", 1.25).with_state("k", 1)).await.unwrap();
    let row = "SELECT id || ' ' || invocation_id || ' ' || timestamp || ' ' || typeof(timestamp) FROM events";
    assert_eq!(place.text(row).await, "e1 inv-1 1760000001.25 real");
    let data = place.text("SELECT event_data FROM events").await;
    assert_eq!(data, serde_json::to_string(&*session.events[0]).unwrap());
    assert!(data.contains(r#""state_delta":{"k":1}"#) && data.contains(r#""node_info":{"path":""}"#), "{data}");
    let times = "SELECT create_time || ' ' || update_time || ' ' || typeof(update_time) FROM sessions";
    assert_eq!(place.text(times).await, "1760000000.0 1760000001.25 real");
}

#[tokio::test]
async fn s47_untouched_numbers_keep_their_text_through_merges() {
    let place = Place::new();
    let service = place.open().await;
    created(&service, &key("s"), json!({})).await;
    let exact = r#""big":1000000000000000000000000000000,"f":1.0,"max":1.7976931348623157e308"#;
    place.run(&format!("UPDATE sessions SET state = '{{{exact}}}'; UPDATE app_states SET state = '{{{exact}}}'")).await;
    let mut session = loaded(&service, &key("s")).await;
    let delta = event("e1", 1.0).with_state("z", 1).with_state("app:z", 1);
    service.append_event(&mut session, delta).await.unwrap();
    created(&service, &key("t"), json!({"app:zz": 1})).await;
    assert_eq!(place.text("SELECT state FROM sessions WHERE id = 's'").await, format!("{{{exact},\"z\":1}}"));
    assert_eq!(place.text("SELECT state FROM app_states").await, format!("{{{exact},\"z\":1,\"zz\":1}}"));
}

#[tokio::test]
async fn case_59_60_pythons_nan_does_not_lock_a_session() {
    let place = Place::new();
    let service = place.open().await;
    created(&service, &key("s"), json!({})).await;
    place.run("UPDATE sessions SET state = '{\"bad\": NaN, \"worse\": -Infinity, \"good\": \"NaN\"}'").await;
    let mut session = loaded(&service, &key("s")).await;
    assert_eq!(json!(session.state), json!({"bad": null, "worse": null, "good": "NaN"}));
    service.append_event(&mut session, event("e1", 1.0).with_state("bad", 1)).await.unwrap();
    assert_eq!(json!(loaded(&service, &key("s")).await.state), json!({"bad": 1, "worse": null, "good": "NaN"}));
}

#[tokio::test]
async fn case_46_47_events_come_by_time_and_then_in_append_order() {
    let place = Place::new();
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    for (id, time) in [("c", 3.0), ("z", 1.0), ("b", 2.0), ("a", 1.0), ("m", 1.0)] {
        service.append_event(&mut session, event(id, time)).await.unwrap();
    }
    let back = loaded(&service, &key("s")).await;
    assert_eq!(ids(&back), ["z", "a", "m", "b", "c"]);
    assert_eq!(back.last_update_time(), CREATED + 1.0);
    let recent = service.get_session(&key("s"), GetSessionConfig::recent(4)).await.unwrap().unwrap();
    assert_eq!(ids(&recent), ["a", "m", "b", "c"]);
}

#[tokio::test]
async fn case_45_times_are_compared_exactly() {
    let place = Place::new();
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    for (after, count) in [(CREATED + 1.0, 1), (CREATED + 1.000_000_5, 0)] {
        let session = service.get_session(&key("s"), GetSessionConfig::after(after)).await.unwrap();
        assert_eq!(session.unwrap().events.len(), count);
    }
}

#[tokio::test]
async fn s66_4_text_times_are_read_in_order_and_repaired_by_an_append() {
    let place = Place::new();
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    created(&service, &key("quiet"), json!({})).await;
    for (id, time) in [("e1", 1.0), ("e2", 2.5), ("e3", 3.654_321)] {
        service.append_event(&mut session, event(id, time)).await.unwrap();
    }
    // The rows as google-adk's DatabaseSessionService leaves them after appending e2 and e3.
    place
        .run(
            "UPDATE events SET timestamp = '2025-10-09 08:53:22.500000' WHERE id = 'e2';
        UPDATE events SET timestamp = '2025-10-09 08:53:23.654321' WHERE id = 'e3';
        UPDATE sessions SET update_time = '2025-10-09 08:53:23.654321' WHERE id = 's'",
        )
        .await;
    let mut back = loaded(&service, &key("s")).await;
    assert_eq!((back.events.clone(), back.last_update_time()), (session.events.clone(), CREATED + 3.654_321));
    for (after, expected) in [(2.5, vec!["e2", "e3"]), (3.0, vec!["e3"]), (0.5, vec!["e1", "e2", "e3"])] {
        let config = GetSessionConfig::after(CREATED + after);
        let cut = service.get_session(&key("s"), config).await.unwrap().unwrap();
        assert_eq!(ids(&cut), expected);
        let cut = service.get_session(&key("s"), config.with_recent(1)).await.unwrap().unwrap();
        assert_eq!(ids(&cut), ["e3"]);
    }
    let listed = service.list_sessions(pleach_session::ListSessions::new("app")).await.unwrap();
    assert_eq!(listed.sessions.iter().map(|session| session.id().as_str()).collect::<Vec<_>>(), ["quiet", "s"]);
    service.append_event(&mut back, event("e4", 3.0)).await.unwrap();
    assert_eq!(ids(&loaded(&service, &key("s")).await), ["e1", "e2", "e4", "e3"]);
    let text = "SELECT CAST((SELECT count(*) FROM events WHERE typeof(timestamp) = 'text')
        + (SELECT count(*) FROM sessions WHERE typeof(update_time) = 'text') AS TEXT)";
    assert_eq!(place.text(text).await, "0");
    assert_eq!(loaded(&service, &key("s")).await.events[3].timestamp(), CREATED + 3.654_321);
}

#[tokio::test]
async fn case_75_76_77_values_missing_in_a_document_come_from_its_columns() {
    let place = Place::new();
    let service = place.open().await;
    created(&service, &key("s"), json!({})).await;
    place
        .run(
            "INSERT INTO events VALUES ('col-1', 'app', 'user', 's', 'inv', 5.0, '{}'),
        ('col-2', 'app', 'user', 's', 'inv', 6.0, '{\"id\": \"json-2\", \"timestamp\": \"7.5\"}')",
        )
        .await;
    for config in [GetSessionConfig::all(), GetSessionConfig::after(5.0), GetSessionConfig::recent(2)] {
        let session = service.get_session(&key("s"), config).await.unwrap().unwrap();
        let seen: Vec<_> = session.events.iter().map(|event| (event.id().to_string(), event.timestamp())).collect();
        assert_eq!(seen, [("col-1".to_owned(), 5.0), ("json-2".to_owned(), 7.5)]);
    }
}

#[tokio::test]
async fn case_102_events_without_a_session_are_ignored() {
    let place = Place::new();
    let service = place.open().await;
    place.run("PRAGMA foreign_keys = OFF; INSERT INTO events VALUES ('e', 'app', 'user', 's', 'inv', 5.0, '{}')").await;
    assert_eq!(service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap(), None);
    let found = service.find_sessions(&"app".into(), &"s".into()).await.unwrap();
    assert!(found.is_empty());
}

#[tokio::test]
async fn s30_a_padded_row_of_another_program_is_found_under_its_own_id() {
    let place = Place::new();
    let service = place.open().await;
    created(&service, &key("pad"), json!({"which": "plain"})).await;
    place.run("INSERT INTO sessions VALUES ('app', 'user', ' pad ', '{\"which\": \"padded\"}', 1.0, 1.0)").await;
    assert_eq!(loaded(&service, &key(" pad ")).await.state["which"], "padded");
    assert_eq!(loaded(&service, &key("pad  ")).await.state["which"], "plain");
    let taken = pleach_session::CreateSession::new("app", "user").with_session_id(" pad ");
    assert_eq!(service.create_session(taken).await.unwrap_err().code(), "AlreadyExistsError");
    service.delete_session(&key(" pad ")).await.unwrap();
    let left = service.find_sessions(&"app".into(), &"pad".into()).await.unwrap();
    assert_eq!(left, [SessionKey::new("app", "user", "pad")]);
}

#[tokio::test]
async fn s61_a_v1_file_has_text_times_and_equal_columns() {
    let place = Place::of(SqliteLayout::V1);
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({"user:u": 1})).await;
    let event = event("e1", 1.123_456_7).with_state("k", 1).with_state("app:a", 1);
    service.append_event(&mut session, event).await.unwrap();
    let row = "SELECT id || ' ' || invocation_id || ' ' || timestamp FROM events";
    assert_eq!(place.text(row).await, "e1 inv-1 2025-10-09 08:53:21.123457");
    let times = "SELECT s.create_time || ' ' || s.update_time || ' ' || a.update_time || ' ' || u.update_time
        FROM sessions s, app_states a, user_states u";
    let [created, appended] = ["2025-10-09 08:53:20.000000", "2025-10-09 08:53:21.123457"];
    assert_eq!(place.text(times).await, format!("{created} {appended} {appended} {created}"));
    let types = "SELECT typeof(create_time) || typeof(update_time) FROM sessions";
    assert_eq!(place.text(types).await, "texttext");
}

#[tokio::test]
async fn case_74_75_76_77_in_v1_columns_fill_and_overrule_documents() {
    let place = Place::of(SqliteLayout::V1);
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    for number in 1..=3 {
        service.append_event(&mut session, event(&format!("e{number}"), f64::from(number))).await.unwrap();
    }
    let overruled =
        "UPDATE events SET event_data = json_set(event_data, '$.id', 'x', '$.invocation_id', 'y') WHERE id = 'e3'";
    place.run(overruled).await;
    assert_eq!(loaded(&service, &key("s")).await, session);
    place
        .run("UPDATE events SET event_data = NULL WHERE id = 'e1'; UPDATE events SET event_data = '{}' WHERE id = 'e2'")
        .await;
    for config in [GetSessionConfig::all(), GetSessionConfig::recent(3), GetSessionConfig::after(CREATED + 1.0)] {
        let back = service.get_session(&key("s"), config).await.unwrap().unwrap();
        for (number, event) in (1..=3).zip(&back.events) {
            assert_eq!((event.id().to_string(), event.invocation_id().as_str()), (format!("e{number}"), "inv-1"));
            assert_eq!(event.timestamp(), CREATED + f64::from(number));
        }
        assert_eq!(ids(&back), ["e1", "e2", "e3"]);
    }
}

/// Google-adk's `SqliteSessionService` creates sessions in a v1 file with its own kind of time.
// S65
#[tokio::test]
async fn s67_numbers_in_v1_time_columns_are_read_and_appended_to() {
    let place = Place::of(SqliteLayout::V1);
    let service = place.open().await;
    place.run("INSERT INTO sessions VALUES ('app', 'user', 's', '{}', 1760000000.1234567, 1760000000.1234567)").await;
    let mut session = loaded(&service, &key("s")).await;
    assert_eq!(session.last_update_time(), 1_760_000_000.123_457);
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    place.run("UPDATE events SET timestamp = 1760000001.0; UPDATE sessions SET update_time = 1760000001.0").await;
    service.append_event(&mut session, event("e2", 2.0)).await.unwrap();
    assert_eq!(loaded(&service, &key("s")).await, session);
    let cut = service.get_session(&key("s"), GetSessionConfig::after(CREATED + 1.0)).await.unwrap();
    assert_eq!(ids(&cut.unwrap()), ["e1", "e2"]);
    place.run("UPDATE sessions SET update_time = 1760000002").await;
    let mut session = loaded(&service, &key("s")).await;
    assert_eq!(session.last_update_time(), CREATED + 2.0);
    service.append_event(&mut session, event("e3", 3.0)).await.unwrap();
    assert_eq!(ids(&loaded(&service, &key("s")).await), ["e1", "e2", "e3"]);
}

/// google-adk's other service appends in the very microsecond of our revision, with a time of its own kind.
#[tokio::test]
async fn s35_s65_a_writer_of_the_other_layout_is_noticed_also_at_the_same_microsecond() {
    let [number, text] = ["1760000001.0", "'2025-10-09 08:53:21.000000'"];
    for (layout, time) in [(SqliteLayout::Lite, text), (SqliteLayout::V1, number)] {
        let place = Place::of(layout);
        let service = place.open().await;
        let mut session = created(&service, &key("s"), json!({})).await;
        service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
        let data = serde_json::to_string(&event("py1", 1.0)).unwrap();
        let foreign = format!(
            "INSERT INTO events VALUES ('py1', 'app', 'user', 's', 'inv-1', {time}, '{data}');
            UPDATE sessions SET update_time = {time}"
        );
        place.run(&foreign).await;
        let mut fresh = loaded(&service, &key("s")).await;
        assert!(fresh.revision() > session.revision(), "{layout:?}: {}", fresh.revision());
        assert_eq!(service.list_sessions(ListSessions::new("app")).await.unwrap().sessions[0].head, fresh.head);
        let Some(Since::Events(new)) = service.events_since(&session.head).await.unwrap() else { panic!("{layout:?}") };
        assert_eq!((ids(&new), &new.head), (vec!["py1".to_owned()], &fresh.head));
        let error = service.append_event(&mut session, event("e2", 2.0)).await.unwrap_err();
        assert!(error.is_stale(), "{layout:?}: {error}");
        // A caller that has seen the event continues, and the next revision is valid for all.
        service.append_event(&mut fresh, event("e2", 1.0)).await.unwrap();
        service.append_event(&mut fresh, event("e3", 2.0)).await.unwrap();
        let back = loaded(&service, &key("s")).await;
        assert_eq!((&back.head, back.events.len()), (&fresh.head, 4), "{layout:?}");
    }
}
