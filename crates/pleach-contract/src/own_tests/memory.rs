//! Measures how much memory a test takes.

use std::sync::Arc;

use pleach_core::{Content, SessionKey};
use pleach_session::SessionService;
use serde_json::json;

use crate::sessions::{created, event, loaded};

/// The size of the event of [`check_copies_of_a_large_event`], in bytes.
const LARGE: usize = 100_000_000;

/// Returns the peak resident memory of this process since the last reset, in bytes; 0 if the system does not report it.
///
/// The test must be alone in its process.
#[must_use]
pub fn peak_memory(reset: bool) -> usize {
    if reset {
        // Only Linux has this file; writing to it resets the peak.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Appends an event of 100 MB with one service that `open` returns, loads it with another, and checks how many copies
/// each of them holds at a time: at most 4.3 while appending and 3.3 while loading, including the event itself.
///
/// Does nothing without the variable `PLEACH_TEST_LARGE`. The test must be alone in its process.
///
/// # Panics
/// Panics if there are more copies, or if the service fails.
pub async fn check_copies_of_a_large_event<S: SessionService>(open: impl AsyncFn() -> S, key: &SessionKey) {
    if std::env::var_os("PLEACH_TEST_LARGE").is_none() {
        crate::own_tests::skip("PLEACH_TEST_LARGE is not set");
        return;
    }
    let service = open().await;
    let mut session = created(&service, key, json!({})).await;
    let before = peak_memory(true);
    let sent = Arc::new(event("e1", 1.0).with_content(Content::user("x".repeat(LARGE))));
    service.append(&mut session.head, sent).await.expect("the event is stored");
    let appended = peak_memory(false) - before;
    drop((session, service));
    let service = open().await;
    let before = peak_memory(true);
    let session = loaded(&service, key).await;
    let read = peak_memory(false) - before;
    assert_eq!(session.events.len(), 1);
    eprintln!("append: {:.1} x, load: {:.1} x", appended as f64 / LARGE as f64, read as f64 / LARGE as f64);
    assert!(appended < LARGE * 43 / 10, "{appended}");
    assert!(read < LARGE * 33 / 10, "{read}");
}
