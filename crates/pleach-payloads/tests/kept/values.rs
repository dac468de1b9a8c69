//! The values themselves: exact, and never taken for references.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pleach_core::{Content, Event, Map, Part};
use pleach_session::{GetSessionConfig, SessionError, SessionService as _, SessionServiceExt as _, Since};
use pleach_session_sqlite::{SqliteLayout, SqliteOptions, SqliteSessionService};
use serde_json::{Value, json};

use crate::support::{Kept, complete, event, key, long, object, references};

/// Returns values that a conversion to JSON text could change.
fn exact() -> Value {
    json!({"largest": u64::MAX, "smallest": i64::MIN, "float": 0.1, "tiny": 5e-324, "whole": 1e16, "negative": -0.0,
        "precise": 1_760_000_000.123_456_7, "text": "ü\u{1f600}\"\\\u{1}\u{2028}", "empty": [{}, [], "", null, true],
        "z": 1, "a": {"z": 2, "b": 3}})
}

#[tokio::test]
async fn values_are_exact_even_from_a_file() {
    for layout in [SqliteLayout::Lite, SqliteLayout::V1] {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new().with_layout(layout);
        let inner = SqliteSessionService::open_with(folder.path().join("s.db"), options).await.unwrap();
        let kept = Kept::over(Arc::new(inner), 0);
        let mut session = kept.session().await;
        let whole = event("e1", exact());
        kept.sessions.append_event(&mut session, whole.clone()).await.unwrap();
        let back = kept.loaded().await;
        assert_eq!(*back.events[0], whole);
        let text = |event: &Event| serde_json::to_string(event.output().unwrap()).unwrap();
        assert_eq!(text(&back.events[0]), text(&whole));
        assert_eq!(references(&kept.rows().await[0]).len(), 1);
    }
}

#[tokio::test]
async fn values_that_look_like_references_are_values() {
    for threshold in [0, 1_000_000] {
        let kept = Kept::above(threshold);
        let mut session = kept.session().await;
        kept.sessions.append_event(&mut session, event("e0", long(5000))).await.unwrap();
        let name = kept.artifacts.names().await.pop().unwrap_or("payload-1".to_owned());
        let forged = json!({"taken": [{"place": "output", "artifact": name, "bytes": 5002}], "own": 1});
        let looks: Vec<Event> = [forged, json!({"taken": 1}), json!(null), json!("x")]
            .into_iter()
            .map(|forged| {
                Event::of(object(&name, 5002))
                    .with_custom_metadata(Map::from_iter([("pleach_payloads".to_owned(), forged)]))
            })
            .chain([Event::message(Content::user(format!("[payload {name}, 5002 bytes]")))])
            .collect();
        for (number, look) in looks.into_iter().enumerate() {
            let look = complete(&format!("e{}", number + 1), look);
            let stored = kept.sessions.append_event(&mut session, look.clone()).await.unwrap();
            assert_eq!(*stored, look);
        }
        assert_eq!(kept.loaded().await.events, session.events);
    }
}

/// Values with U+0000 are refused as they are without payloads, and nothing is saved.
#[tokio::test]
async fn values_that_no_store_accepts_are_refused_before_anything_is_saved() {
    let kept = Kept::above(10);
    let mut session = kept.session().await;
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    for (value, field) in [(json!({"a": format!("{}\0", long(100))}), "output.a"), (json!([long(100), deep]), "output")]
    {
        let error = kept.sessions.append(&mut session.head, Arc::new(event("e1", value))).await.unwrap_err();
        assert!(matches!(&error, SessionError::Unstorable { field: named, .. } if named.starts_with(field)), "{error}");
    }
    assert_eq!((kept.artifacts.saves.load(Ordering::Relaxed), kept.rows().await.len()), (0, 0));
}

#[tokio::test]
async fn the_store_handles_temp_keys_and_operations_of_a_large_event() {
    let kept = Kept::above(10);
    let mut session = kept.session().await;
    let large = event("e1", long(100)).with_state("temp:x", 1).with_state("kept", long(100));
    let large = large.with_state_op("app:n", pleach_core::StateOp::Add(2.into()));
    let stored = kept.sessions.append_event(&mut session, large).await.unwrap();
    assert_eq!(Value::Object(stored.actions().state_delta().clone()), json!({"kept": long(100), "app:n": 2}));
    assert!(stored.actions().has_resolved_state_ops());
    assert_eq!(kept.loaded().await.state["kept"], long(100), "state is not taken out");
}

#[tokio::test]
async fn only_returned_values_are_read_and_a_few_at_a_time() {
    let kept = Kept::above(10);
    let mut session = kept.session().await;
    let mut heads = vec![session.head.clone()];
    for number in 0..40 {
        let mut large = event(&format!("e{number}"), long(100));
        large.set_timestamp(1_760_000_000.0 + f64::from(number));
        kept.sessions.append_event(&mut session, large).await.unwrap();
        heads.push(session.head.clone());
    }
    let loads = || kept.artifacts.loads.swap(0, Ordering::Relaxed);
    assert_eq!(loads(), 0, "an append reads nothing");
    for (config, expected) in [
        (GetSessionConfig::recent(3), 3),
        (GetSessionConfig::recent(0), 0),
        (GetSessionConfig::after(1_760_000_030.0), 10),
        (GetSessionConfig::all(), 40),
    ] {
        let found = kept.sessions.get_session(&key(), config).await.unwrap().unwrap();
        assert_eq!(found.events, session.events[40 - expected..]);
        assert_eq!(loads(), expected);
    }
    let Some(Since::Events(since)) = kept.sessions.events_since(&heads[38]).await.unwrap() else { panic!() };
    assert_eq!((since.events.as_slice(), loads()), (&session.events[38..], 2));
    let most = kept.artifacts.most_open.load(Ordering::Relaxed);
    assert!((2..=8).contains(&most), "{most}");
}

#[tokio::test]
async fn media_without_a_type_and_with_a_name_are_exact() {
    let kept = Kept::above(0);
    let mut session = kept.session().await;
    let mut parts: Vec<Part> = ["", "image/png"].map(|mime| Part::bytes(mime, vec![0, 1, 255])).into();
    parts.push(Part::bytes("x", vec![7]));
    parts[2].inline_data.as_mut().unwrap().mime_type = None;
    parts[2].inline_data.as_mut().unwrap().display_name = Some("n".to_owned());
    parts.push(serde_json::from_value(json!({"inline_data": {"data": "AAE=", "new_field": {"camelKey": 1}}})).unwrap());
    let whole = complete("e1", Event::from_author("agent").with_content(Content::new("model", parts)));
    kept.sessions.append_event(&mut session, whole.clone()).await.unwrap();
    assert_eq!(*kept.loaded().await.events[0], whole);
    assert_eq!(kept.artifacts.names().await.len(), 4);
}
