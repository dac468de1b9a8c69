//! A file for each agent.
// S39

use pleach_contract::sessions::{created, event, loaded};
use pleach_core::SessionKey;
use pleach_session::{GetSessionConfig, ListSessions, SessionError, SessionService as _, SessionServiceExt as _};
use pleach_session_sqlite::PerAgentSessionService;
use serde_json::json;
use tempfile::TempDir;

fn of(app: &str) -> SessionKey {
    SessionKey::new(app, "user", "s")
}

#[tokio::test]
async fn s39_every_app_has_its_own_file_and_built_in_ones_share_one() {
    let root = TempDir::new().unwrap();
    let service = PerAgentSessionService::new(root.path()).with_folder("renamed", "elsewhere");
    for app in ["shop", "nested/notes", "renamed", "__builder", "__other"] {
        let mut session = created(&service, &of(app), json!({"app:a": app})).await;
        service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
        assert_eq!(loaded(&service, &of(app)).await, session);
        assert_eq!(service.list_sessions(ListSessions::new(app)).await.unwrap().sessions.len(), 1);
    }
    for (folder, app) in
        [("shop", "shop"), ("nested/notes", "nested/notes"), ("elsewhere", "renamed"), (".", "__other")]
    {
        let file = root.path().join(folder).join(".adk/session.db");
        let alone = pleach_session_sqlite::SqliteSessionService::open(file).await.unwrap();
        assert_eq!(loaded(&alone, &of(app)).await.state["app:a"], app);
    }
    service.flush().await.unwrap();
    service.health_check().await.unwrap();
    service.close().await.unwrap();
    let error = service.get_session(&of("shop"), GetSessionConfig::all()).await.unwrap_err();
    assert!(matches!(error, SessionError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn s39_asking_about_an_unknown_app_makes_nothing() {
    let root = TempDir::new().unwrap();
    let service = PerAgentSessionService::new(root.path());
    assert_eq!(service.get_session(&of("none"), GetSessionConfig::all()).await.unwrap(), None);
    assert!(service.list_sessions(ListSessions::new("none")).await.unwrap().sessions.is_empty());
    assert!(service.find_sessions(&"none".into(), &"s".into()).await.unwrap().is_empty());
    assert!(service.user_state(&"none".into(), &"user".into()).await.unwrap().is_empty());
    service.delete_session(&of("none")).await.unwrap();
    let mut gone = created(&PerAgentSessionService::new(TempDir::new().unwrap().path()), &of("none"), json!({})).await;
    assert_eq!(service.events_since(&gone.head).await.unwrap(), None);
    let error = service.append_event(&mut gone, event("e1", 1.0)).await.unwrap_err();
    assert!(matches!(error, SessionError::NotFound(_)), "{error}");
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn s39_a_name_that_leads_out_of_the_root_is_refused() {
    let root = TempDir::new().unwrap();
    let service = PerAgentSessionService::new(root.path().join("agents"));
    for name in ["", "..", "../x", "a/../../x", "/etc", ".", "a\0b"] {
        let error = service.get_session(&of(name), GetSessionConfig::all()).await.unwrap_err();
        assert!(matches!(&error, SessionError::Unsupported { what, .. } if what.contains(name)), "{error}");
    }
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}
