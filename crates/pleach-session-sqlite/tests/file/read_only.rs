//! Files that are only read.

use std::path::Path;

use pleach_core::Event;
use pleach_session::{
    CreateSession, ListQuestions, ListSessions, SessionError, SessionResult, SessionService as _,
    SessionServiceExt as _,
};
use pleach_session_sqlite::{ReadOnlySqliteSessionService, SqliteOptions};

use super::{LAYOUTS, Place, key};

async fn open(path: &Path) -> SessionResult<ReadOnlySqliteSessionService> {
    ReadOnlySqliteSessionService::open(path, SqliteOptions::new()).await
}

fn is_refused<T>(result: SessionResult<T>) -> bool {
    matches!(result.err(), Some(SessionError::ReadOnly { what }) if what.contains("sessions.db"))
}

#[tokio::test]
async fn a_file_is_read_while_another_program_writes_and_writing_is_refused() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let writer = place.open().await;
        let request = CreateSession::new("app", "user").with_session_id("s");
        let mut session = writer.create_session(request.clone()).await.unwrap();
        let reader = open(&place.path()).await.unwrap();
        assert_eq!(reader.layout(), layout);
        let mut seen = reader.get_session(&key("s"), Default::default()).await.unwrap().unwrap();
        let event = Event::message("hello").with_state("app:k", 1);
        writer.append_event(&mut session, event.clone()).await.unwrap();
        let since = reader.events_since(&seen.head).await.unwrap();
        assert!(matches!(since, Some(pleach_session::Since::Events(session)) if session.events.len() == 1));
        assert_eq!(reader.list_apps().await.unwrap()[0].as_str(), "app");
        assert_eq!(reader.list_sessions(ListSessions::new("app")).await.unwrap().sessions[0].state["app:k"], 1);
        assert_eq!(reader.app_state(&"app".into()).await.unwrap()["k"], 1);
        assert!(reader.list_questions(ListQuestions::new("app")).await.unwrap().items.is_empty());
        reader.health_check().await.unwrap();

        assert!(is_refused(reader.create_session(request).await));
        assert!(is_refused(reader.append_event(&mut seen, event).await));
        assert!(is_refused(reader.claim(&mut seen.head, 1.0).await));
        assert!(is_refused(reader.delete_session(&key("s")).await));
        let stored = writer.get_session(&key("s"), Default::default()).await.unwrap().unwrap();
        assert_eq!(stored.events.len(), 1);
    }
}

#[tokio::test]
async fn nothing_is_created_by_a_read_only_service() {
    let place = Place::new();
    assert!(matches!(open(&place.path()).await.unwrap_err(), SessionError::Unavailable { .. }));
    assert!(!place.path().exists());
    // A database without tables, and one with some of them.
    for sql in ["CREATE TABLE other (x)", "CREATE TABLE app_states (app_name TEXT, state TEXT, update_time REAL)"] {
        place.run(sql).await;
        let before = std::fs::read(place.path()).unwrap();
        let error = open(&place.path()).await.unwrap_err();
        assert!(matches!(&error, SessionError::Unsupported { reason, .. } if reason.contains("missing")), "{error}");
        assert_eq!(std::fs::read(place.path()).unwrap(), before);
    }
}
