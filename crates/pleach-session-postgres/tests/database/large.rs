//! Large events.

use pleach_contract::own_tests::check_copies_of_a_large_event;

use super::{Database, key};

/// Runs only with `PLEACH_TEST_LARGE`, and alone in its process.
#[tokio::test]
async fn an_event_of_a_hundred_megabytes_takes_few_copies() {
    let Some(database) = Database::new().await else { return };
    check_copies_of_a_large_event(async || database.open().await, &key("s")).await;
}
