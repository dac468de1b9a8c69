//! Events that are large.

use std::sync::Arc;

use pleach_core::Content;
use pleach_session::SessionService as _;
use pleach_testkit::contract::{created, event, loaded};
use pleach_testkit::peak_memory;
use serde_json::json;

use super::{Place, key};

const SIZE: usize = 100_000_000;

/// issue 10 D1: with `PLEACH_TEST_LARGE`, and alone in its process. The event is one of the copies.
#[tokio::test]
async fn d1_an_event_of_a_hundred_megabytes_takes_few_copies() {
    if std::env::var_os("PLEACH_TEST_LARGE").is_none() {
        eprintln!("SKIPPED: PLEACH_TEST_LARGE is not set");
        return;
    }
    let Some(place) = Place::new().await else { return };
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    let before = peak_memory(true);
    let sent = event("e1", 1.0).with_content(Content::user("x".repeat(SIZE)));
    service.append(&mut session.head, Arc::new(sent)).await.unwrap();
    let appended = peak_memory(false) - before;
    drop((session, service));
    let service = place.open().await;
    let before = peak_memory(true);
    let session = loaded(&service, &key("s")).await;
    let read = peak_memory(false) - before;
    assert_eq!(session.events.len(), 1);
    eprintln!("append: {:.1} x, load: {:.1} x", appended as f64 / SIZE as f64, read as f64 / SIZE as f64);
    assert!(appended < SIZE * 43 / 10, "{appended}");
    assert!(read < SIZE * 33 / 10, "{read}");
}
