//! The creation and deletion of payloads: refused appends, crashes, deletions.

use std::sync::Arc;
use std::task::{Context, Waker};

use pleach_artifact::{ArtifactScope, ArtifactService as _, SaveArtifact};
use pleach_core::{Part, SessionKey};
use pleach_session::{CreateSession, GetSessionConfig, SessionError, SessionService as _, SessionServiceExt as _};
use pleach_session_sqlite::SqliteSessionService;

use crate::support::{Kept, event, key, long};

#[tokio::test]
async fn a_stale_append_leaves_the_winners_payload_alone() {
    let kept = Kept::above(10);
    let mut winner = kept.session().await;
    let mut loser = winner.clone();
    // Both processes append the same event, for example the end of a timer.
    let same = event("timer", long(100));
    kept.sessions.append_event(&mut winner, same.clone()).await.unwrap();
    kept.sessions.append_event(&mut winner, event("e2", long(200))).await.unwrap();
    let error = kept.sessions.append_event(&mut loser, event("e3", long(300))).await.unwrap_err();
    assert!(error.is_stale(), "{error}");
    kept.sessions.append_event(&mut loser, same).await.unwrap();
    assert_eq!(kept.loaded().await.events, winner.events);
    kept.sessions.delete_session(&key()).await.unwrap();
    assert_eq!(kept.artifacts.names().await, [""; 0], "the loser's payload is gone as well");
}

#[tokio::test]
async fn another_event_with_the_same_id_changes_nothing() {
    let kept = Kept::above(10);
    let mut session = kept.session().await;
    kept.sessions.append_event(&mut session, event("e1", long(100))).await.unwrap();
    let mut same_output = event("e1", long(100));
    same_output.set_author("other");
    for other in [event("e1", long(200)), same_output] {
        let error = kept.sessions.append(&mut session.head.clone(), Arc::new(other)).await.unwrap_err();
        assert!(matches!(error, SessionError::EventAlreadyExists { .. }), "{error}");
    }
    assert_eq!(kept.loaded().await.events, session.events);
}

/// A process dies, or a caller gives up, at each point of an append.
#[tokio::test]
async fn an_append_that_is_cut_off_is_whole_or_absent_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let inner = Arc::new(SqliteSessionService::open(folder.path().join("s.db")).await.unwrap());
    let kept = Kept::over(inner, 10);
    let mut session = kept.session().await;
    let (mut absent, mut saved_only) = (0, 0);
    for polls in 0..8_u32 {
        let large = event(&format!("e{polls}"), long(100 + polls as usize));
        let before = kept.artifacts.names().await.len();
        let mut head = session.head.clone();
        {
            let mut append = kept.sessions.append(&mut head, Arc::new(large.clone()));
            for _ in 0..polls {
                if append.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        kept.sessions.flush().await.unwrap();
        let found = kept.loaded().await;
        if found.events.len() == session.events.len() {
            absent += 1;
            saved_only += kept.artifacts.names().await.len() - before;
        }
        kept.sessions.append_event(&mut session, large).await.unwrap();
        let found = kept.loaded().await;
        assert_eq!(found.events, session.events);
        assert_eq!(kept.artifacts.names().await.len(), before + 1, "a repetition saves under the same name");
    }
    assert!(
        saved_only > 0 && absent > saved_only,
        "cut off {absent} times before the append, {saved_only} times after the save"
    );
}

#[tokio::test]
async fn an_append_to_a_deleted_session_leaves_nothing() {
    let kept = Kept::above(10);
    let mut session = kept.session().await;
    kept.sessions.delete_session(&key()).await.unwrap();
    let error = kept.sessions.append_event(&mut session, event("e1", long(100))).await.unwrap_err();
    assert!(matches!(error, SessionError::NotFound(_)), "{error}");
    assert_eq!(kept.artifacts.names().await, [""; 0]);
    // A session that was created again keeps its payloads.
    let mut again = kept.session().await;
    kept.sessions.append_event(&mut again, event("e1", long(100))).await.unwrap();
    assert!(kept.sessions.append_event(&mut session, event("e2", long(200))).await.is_err());
    assert_eq!(kept.loaded().await.events, again.events);
}

#[tokio::test]
async fn a_delete_removes_only_the_payloads_of_its_session() {
    let kept = Kept::above(10);
    for id in ["s1", "s2"] {
        let mut session = kept.session_with_id(id).await;
        kept.sessions.append_event(&mut session, event("e1", long(100))).await.unwrap();
    }
    // These are files of users: in the session, and in an app that has the name of the payloads' app.
    let files = [ArtifactScope::session(&key()), ArtifactScope::session(&SessionKey::new("app.payloads", "ana", "s1"))];
    for scope in &files {
        let report = scope.artifact("report.md");
        kept.artifacts.save_artifact(SaveArtifact::new(report, Part::text("# Sales"))).await.unwrap();
    }
    assert_eq!(kept.artifacts.list_artifact_keys(&files[0]).await.unwrap(), ["report.md"], "payloads are not listed");
    kept.sessions.delete_session(&key()).await.unwrap();
    for scope in &files {
        assert_eq!(kept.artifacts.list_artifact_keys(scope).await.unwrap(), ["report.md"]);
    }
    assert_eq!(kept.artifacts.names_of("s2").await.len(), 1);
    let other = kept.sessions.get_session(&SessionKey::new("app", "ana", "s2"), GetSessionConfig::all()).await;
    assert_eq!(other.unwrap().unwrap().events.len(), 1);
}

#[tokio::test]
async fn a_repeated_delete_deletes_the_rest() {
    let kept = Kept::above(10);
    let mut session = kept.session().await;
    kept.sessions.append_event(&mut session, event("e1", long(100))).await.unwrap();
    kept.artifacts.set_down(true);
    let error = kept.sessions.delete_session(&key()).await.unwrap_err();
    assert!(matches!(error, SessionError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("app/ana/s1, which is itself deleted"), "{error}");
    assert_eq!(kept.inner.get_session(&key(), GetSessionConfig::all()).await.unwrap(), None);
    kept.artifacts.set_down(false);
    assert_eq!(kept.artifacts.names().await.len(), 1);
    kept.sessions.delete_session(&key()).await.unwrap();
    assert_eq!(kept.artifacts.names().await, [""; 0]);
}

/// The lite layout trims blanks, so both ids belong to the same session.
#[tokio::test]
async fn blanks_around_an_id_lead_to_the_same_payloads() {
    let kept = Kept::above(10);
    let blank = SessionKey::new("app", "ana", " s1 ");
    let create = CreateSession::new("app", "ana").with_session_id(" s1 ");
    let session = kept.sessions.create_session(create).await.unwrap();
    let mut head = pleach_core::SessionHead::new(blank.clone(), session.revision(), session.last_update_time());
    kept.sessions.append(&mut head, Arc::new(event("e1", long(100)))).await.unwrap();
    for key in [&key(), &blank] {
        let found = kept.sessions.get_session(key, GetSessionConfig::all()).await.unwrap().unwrap();
        assert_eq!(*found.events[0], event("e1", long(100)));
    }
    assert_eq!(kept.artifacts.names().await.len(), 1);
    kept.sessions.delete_session(&blank).await.unwrap();
    assert_eq!(kept.artifacts.names().await, [""; 0]);
}

/// Services with another threshold, or without one, read the values that this service stored.
#[tokio::test]
async fn a_threshold_concerns_appends_only() {
    let kept = Kept::above(10);
    let mut session = kept.session().await;
    kept.sessions.append_event(&mut session, event("e1", long(100))).await.unwrap();
    let other = kept.sessions.clone().with_threshold(1_000_000);
    let mut found = other.get_session(&key(), GetSessionConfig::all()).await.unwrap().unwrap();
    assert_eq!(found.events, session.events);
    other.append_event(&mut found, event("e2", long(100))).await.unwrap();
    assert_eq!(kept.loaded().await.events, found.events);
    assert_eq!(kept.artifacts.names().await.len(), 1);
}
