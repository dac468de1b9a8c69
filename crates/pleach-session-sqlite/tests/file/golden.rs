//! Files that google-adk wrote, and the data that google-adk itself reads from them.
// S130, S131

use pleach_contract::own_tests::golden;
use pleach_contract::sessions::{event, loaded};
use pleach_core::SessionKey;
use pleach_session::{GetSessionConfig, SessionError, SessionService as _, SessionServiceExt as _};
use pleach_session_sqlite::{SqliteLayout, SqliteSessionService};

use super::{Place, key};

async fn copy_of(file: &[u8]) -> (SqliteSessionService, Place) {
    let place = Place::new();
    std::fs::write(place.path(), file).unwrap();
    (place.open().await, place)
}

#[tokio::test]
async fn s131_a_lite_file_of_google_adk_reads_as_google_adk_reads_it() {
    let (service, _place) = copy_of(include_bytes!("../golden/lite.sqlite")).await;
    assert_eq!(service.layout(), SqliteLayout::Lite);
    golden::check_file(&service, "adk_sqlite_service.db").await;
}

#[tokio::test]
async fn s131_a_v1_file_of_google_adk_reads_as_google_adk_reads_it_and_takes_appends() {
    // The options ask for lite, but the existing layout wins (S66.3).
    let (service, place) = copy_of(include_bytes!("../golden/v1.sqlite")).await;
    assert_eq!(service.layout(), SqliteLayout::V1);
    golden::check_file(&service, "adk_database_service.db").await;
    let mut session = loaded(&service, &SessionKey::new("shop", "alice", "s-chat")).await;
    let delta = event("ours", 99.123_456_7).with_state("step", 2).with_state("app:theme", "light");
    service.append_event(&mut session, delta).await.unwrap();
    assert_eq!(loaded(&service, session.key()).await, session);
    let times = "SELECT e.timestamp || ' ' || s.update_time FROM events e, sessions s
        WHERE e.id = 'ours' AND s.id = 's-chat' AND s.user_id = 'alice' AND s.app_name = 'shop'";
    assert_eq!(place.text(times).await, "2025-10-09 08:54:59.123457 2025-10-09 08:54:59.123457");
}

#[tokio::test]
async fn s66_4_a_file_both_services_of_google_adk_wrote_is_read_and_repaired() {
    let (service, place) = copy_of(include_bytes!("../golden/mixed.sqlite")).await;
    golden::check(&service, &golden::expected()["special_files"]["adk_mixed.db"]).await;
    let mut session = loaded(&service, &SessionKey::new("mixed", "u1", "s1")).await;
    service.append_event(&mut session, event("m-3", 9.0)).await.unwrap();
    assert_eq!(loaded(&service, session.key()).await, session);
    let types = "SELECT group_concat(DISTINCT typeof(timestamp)) FROM events";
    assert_eq!(place.text(types).await, "real");
    assert_eq!(service.get_session(&key("none"), GetSessionConfig::all()).await.unwrap(), None);
}

#[tokio::test]
async fn s64a_a_pickled_file_of_google_adk_is_refused_with_what_to_do() {
    let place = Place::new();
    let file = include_bytes!("../golden/v0.sqlite");
    std::fs::write(place.path(), file).unwrap();
    let error = SqliteSessionService::open(place.path()).await.unwrap_err();
    assert!(
        matches!(&error, SessionError::Unsupported { reason, .. } if reason.contains("adk migrate session")),
        "{error}"
    );
    assert_eq!(std::fs::read(place.path()).unwrap(), file);
}
