//! A database that google-adk wrote, and the data that google-adk itself reads from it.
// S130, S131

use pleach_contract::own_tests::golden;
use pleach_contract::sessions::{event, loaded};
use pleach_core::SessionKey;
use pleach_session::SessionServiceExt as _;

use super::Database;

#[tokio::test]
async fn s131_a_database_of_google_adk_reads_as_google_adk_reads_it() {
    let Some(database) = Database::new().await else { return };
    database.restore_golden().await;
    let service = database.open().await;
    golden::check_file(&service, "adk_postgres.sql").await;
}

#[tokio::test]
async fn s131_its_sessions_are_appended_to() {
    let Some(database) = Database::new().await else { return };
    database.restore_golden().await;
    let service = database.open().await;
    let mut session = loaded(&service, &SessionKey::new("shop", "alice", "s-chat")).await;
    let delta = event("ours", 99.0).with_state("step", 2).with_state("app:theme", "light").with_state("user:new", 1);
    service.append_event(&mut session, delta).await.unwrap();
    let back = loaded(&service, session.key()).await;
    assert_eq!(back, session);
    // A value that the delta does not name keeps its digits.
    let exact = "SELECT (state -> 'big_int')::text FROM sessions WHERE user_id = 'alice' AND id = 's-chat' AND app_name = 'shop'";
    assert_eq!(database.texts(exact).await, ["9223372036854775807"]);
}
