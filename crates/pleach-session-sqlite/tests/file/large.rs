//! Sessions that are larger than the longest text of SQLite.

#[cfg(target_os = "linux")]
use pleach_contract::own_tests::check_copies_of_a_large_event;
use pleach_contract::sessions::{CREATED, created, event, ids, loaded};
use pleach_core::{Content, Event};
use pleach_session::{GetSessionConfig, SessionService as _, SessionServiceExt as _, Since};
use serde_json::json;

use super::{LAYOUTS, Place, key};

fn large(id: &str, after: f64, bytes: usize) -> Event {
    event(id, after).with_content(Content::user("x".repeat(bytes)))
}

/// 260 events of 4 MB are more than the 10^9 bytes of SQLite's longest text, and take half a minute. So without
/// `PLEACH_TEST_LARGE` only a tenth of them is used. Most of each event is blanks, which take no memory once they are
/// read.
#[tokio::test]
async fn a_session_of_more_than_a_billion_bytes_is_loaded() {
    let count = if std::env::var_os("PLEACH_TEST_LARGE").is_some() { 260 } else { 26 };
    let place = Place::new();
    let service = place.open().await;
    created(&service, &key("s"), json!({})).await;
    let rows = format!(
        r#"PRAGMA synchronous = OFF;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
        INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)
        SELECT 'e' || i, 'app', 'user', 's', 'inv', 1760000000.0 + i,
        '{{"id":"e' || i || '","author":"a","timestamp":' || (1760000000.0 + i) || printf('%4000000s', '}}') FROM n"#
    );
    place.run(&rows).await;
    let session = loaded(&service, &key("s")).await;
    let expected: Vec<_> = (1..=count).map(|at| format!("e{at}")).collect();
    assert_eq!(ids(&session), expected);
}

#[tokio::test]
async fn long_and_short_documents_keep_their_order_in_every_kind_of_load() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = place.open().await;
        let mut session = created(&service, &key("s"), json!({})).await;
        let before = session.head.clone();
        for at in 0..600_u32 {
            let bytes = if at % 37 == 5 { 140_000 } else { 10 };
            service.append_event(&mut session, large(&format!("e{at:03}"), f64::from(at), bytes)).await.unwrap();
        }
        let back = loaded(&service, &key("s")).await;
        assert_eq!(back.events, session.events);
        let config = GetSessionConfig::after(CREATED + 300.0).with_recent(100);
        let cut = service.get_session(&key("s"), config).await.unwrap().unwrap();
        assert_eq!(cut.events, session.events[500..]);
        let Some(Since::Events(since)) = service.events_since(&before).await.unwrap() else { panic!("no events") };
        assert_eq!(since.events, session.events);
    }
}

/// A long document of another program without id and time gets the values of its columns, like a short one.
#[tokio::test]
async fn a_long_document_without_id_and_time_has_those_of_its_columns() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = place.open().await;
        let mut session = created(&service, &key("s"), json!({})).await;
        for at in 1..=3_u32 {
            service.append_event(&mut session, large(&format!("e{at}"), f64::from(at), 140_000)).await.unwrap();
        }
        place
            .run("UPDATE events SET event_data = json_remove(event_data, '$.id', '$.timestamp') WHERE id = 'e2'")
            .await;
        let back = loaded(&service, &key("s")).await;
        assert_eq!(ids(&back), ["e1", "e2", "e3"]);
        assert_eq!(back.events, session.events);
    }
}

/// Runs only with `PLEACH_TEST_LARGE`, and alone in its process. A load holds SQLite's copy of the document, the
/// driver's copy and the event. An append also holds the text that is sent, and SQLite holds the row that it makes
/// from its copy.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_event_of_a_hundred_megabytes_takes_few_copies() {
    let place = Place::new();
    check_copies_of_a_large_event(async || place.open().await, &key("s")).await;
}
