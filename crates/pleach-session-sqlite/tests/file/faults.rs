//! Files that cannot be used, and data that cannot be stored: the error names the fault.

use std::process::Command;
use std::time::Duration;

use pleach_contract::sessions::{chain, created, event, loaded};
use pleach_session::{
    CreateSession, GetSessionConfig, ListSessions, ListSessionsResponse, SessionError, SessionService as _,
    SessionServiceExt as _,
};
use pleach_session_sqlite::{SqliteOptions, SqliteSessionService};
use serde_json::json;
use tempfile::TempDir;

use super::{LAYOUTS, Place, key};

#[tokio::test]
async fn a_file_that_is_not_a_database_is_damaged_and_named() {
    let place = Place::new();
    std::fs::write(place.path(), vec![b'x'; 8192]).unwrap();
    let error = SqliteSessionService::open(place.path()).await.unwrap_err();
    assert!(matches!(&error, SessionError::Corrupt { what, .. } if what.contains("sessions.db")), "{error}");
    assert!(chain(&error).contains("not a database"), "{}", chain(&error));
}

#[tokio::test]
async fn a_truncated_file_is_damaged_and_named() {
    let place = Place::new();
    let service = place.open().await;
    created(&service, &key("s"), json!({"pad": "x".repeat(50_000)})).await;
    service.close().await.unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(place.path()).unwrap();
    file.set_len(6000).unwrap();
    let error = match SqliteSessionService::open(place.path()).await {
        Err(error) => error,
        Ok(service) => service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err(),
    };
    assert!(matches!(&error, SessionError::Corrupt { what, .. } if what.contains("sessions.db")), "{error}");
}

#[tokio::test]
async fn a_missing_folder_or_a_folder_is_not_available() {
    let place = Place::new();
    for path in [place.folder.path().join("none").join("x.db"), place.folder.path().to_owned()] {
        let error = SqliteSessionService::open(&path).await.unwrap_err();
        let named = path.display().to_string();
        assert!(matches!(&error, SessionError::Unavailable { what, .. } if what.contains(&named)), "{error}");
    }
}

#[tokio::test]
async fn a_read_only_file_is_not_available() {
    let place = Place::new();
    let service = place.open().await;
    created(&service, &key("s"), json!({})).await;
    service.close().await.unwrap();
    place.run("PRAGMA journal_mode = DELETE; DROP INDEX idx_events_app_user_session_ts_id").await;
    let mut permissions = std::fs::metadata(place.path()).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(place.path(), permissions).unwrap();
    if std::fs::OpenOptions::new().write(true).open(place.path()).is_ok() {
        pleach_contract::own_tests::skip("this user may write to read-only files");
        return;
    }
    let error = SqliteSessionService::open(place.path()).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unavailable { what, .. } if what.contains("sessions.db")), "{error}");
}

/// A folder on a disk of its own, with the given number of bytes.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// Mounts such a disk, or prints why the test is skipped.
    fn new(bytes: u32) -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let size = format!("size={bytes}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        pleach_contract::own_tests::skip("this user may not mount a small disk");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Unmount lazily, because the service may still be closing its file.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[tokio::test]
async fn a_read_only_disk_is_not_available() {
    let Some(disk) = SmallDisk::new(1 << 20) else { return };
    let path = disk.0.path().join("sessions.db");
    let service = SqliteSessionService::open(&path).await.unwrap();
    created(&service, &key("s"), json!({})).await;
    service.close().await.unwrap();
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(disk.0.path()).status().unwrap();
    assert!(remounted.success());
    let error = SqliteSessionService::open(&path).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unavailable { what, .. } if what.contains("sessions.db")), "{error}");
}

/// Acknowledged events are stored, refused ones are not, and once there is free space appends succeed again.
#[tokio::test]
async fn a_full_disk_loses_nothing_and_can_be_emptied() {
    for layout in LAYOUTS {
        let Some(disk) = SmallDisk::new(1 << 20) else { return };
        let filler = disk.0.path().join("filler");
        std::fs::write(&filler, vec![0; 300 << 10]).unwrap();
        let options = SqliteOptions::new().with_layout(layout);
        let service = SqliteSessionService::open_with(disk.0.path().join("sessions.db"), options).await.unwrap();
        let mut session = created(&service, &key("s"), json!({})).await;
        let mut number = 0;
        let error = loop {
            number += 1;
            let event = event(&format!("e{number}"), f64::from(number))
                .with_state("n", number)
                .with_state("app:pad", "x".repeat(10_000));
            let before = session.clone();
            if let Err(error) = service.append_event(&mut session, event).await {
                assert_eq!(session, before);
                break error;
            }
        };
        assert!(matches!(&error, SessionError::Unavailable { what, .. } if what.contains("sessions.db")), "{error}");
        assert!(chain(&error).contains("full"), "{}", chain(&error));
        assert!(session.events.len() > 5);
        assert_eq!(loaded(&service, &key("s")).await, session);
        std::fs::remove_file(&filler).unwrap();
        service.append_event(&mut session, event("after", 1e6)).await.unwrap();
        assert_eq!(loaded(&service, &key("s")).await, session);
        service.close().await.unwrap();
    }
}

#[tokio::test]
async fn s66_6_a_lock_is_waited_for_until_the_deadline() {
    let place = Place::new();
    let options = SqliteOptions::new().with_busy_timeout(Duration::from_millis(100));
    let impatient = SqliteSessionService::open_with(place.path(), options).await.unwrap();
    let mut session = created(&impatient, &key("s"), json!({})).await;
    let mut other = place.raw().await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let before = session.clone();
    let error = impatient.append_event(&mut session, event("e1", 1.0)).await.unwrap_err();
    assert!(matches!(&error, SessionError::Locked { what, .. } if what.contains("sessions.db")), "{error}");
    assert_eq!(session, before);
    // A writer does not make loads wait.
    assert_eq!(loaded(&impatient, &key("s")).await, before);
    let error = impatient.create_session(CreateSession::new("app", "user")).await.unwrap_err();
    assert_eq!(error.code(), "StorageLockedError");

    let patient = place.open().await;
    let waiting = async {
        patient.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    };
    let release = async {
        // By now the other append has waited for as long as this service waits before it gives up.
        impatient.create_session(CreateSession::new("app", "user")).await.unwrap_err();
        sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    };
    tokio::join!(waiting, release);
    assert_eq!(loaded(&impatient, &key("s")).await, session);
}

/// Messages that wait for the same lock share one wait instead of waiting one after the other.
#[tokio::test]
async fn s66_6_waiting_messages_share_their_patience() {
    let place = Place::new();
    let options = SqliteOptions::new().with_busy_timeout(Duration::from_millis(300));
    let service = SqliteSessionService::open_with(place.path(), options).await.unwrap();
    let mut other = place.raw().await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let creates = (0..20).map(|_| service.create_session(CreateSession::new("app", "user")));
    let all = futures_util::future::join_all(creates);
    // Twenty waits in a row would take six seconds. Two waits are enough: one for the first message, one for all those
    // after it.
    let outcomes = tokio::time::timeout(Duration::from_secs(4), all).await.expect("they wait together");
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Err(SessionError::Locked { .. }))));
}

#[tokio::test]
async fn times_that_revisions_cannot_distinguish_are_refused() {
    let place = Place::new();
    let service = place.open().await;
    for time in [f64::NAN, f64::INFINITY, 1e13] {
        let error = service.create_session(CreateSession::new("app", "user").with_create_time(time)).await.unwrap_err();
        assert!(matches!(&error, SessionError::Unstorable { field, .. } if field == "create_time"), "{error}");
    }
    let mut session = created(&service, &key("s"), json!({})).await;
    let mut far = event("e1", 0.0);
    far.set_timestamp(1e13);
    let error = service.append_event(&mut session, far).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unstorable { field, .. } if field == "timestamp"), "{error}");
}

#[tokio::test]
async fn values_of_another_kind_than_their_column_are_damage_and_named() {
    let place = Place::new();
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    for damage in [
        "UPDATE sessions SET state = x'ff00'",
        "UPDATE sessions SET state = '{}', update_time = x'00'",
        "UPDATE sessions SET update_time = 1760000001.0; UPDATE events SET event_data = CAST(x'ff' AS TEXT)",
    ] {
        place.run(damage).await;
        let error = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err();
        assert!(
            matches!(&error, SessionError::Corrupt { what, .. } if what.contains("sessions.db")),
            "{damage}: {error}"
        );
    }
}

#[tokio::test]
async fn a_closed_service_is_unavailable() {
    let place = Place::new();
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    service.flush().await.unwrap();
    service.close().await.unwrap();
    service.close().await.unwrap();
    let error = service.append_event(&mut session, event("e1", 1.0)).await.unwrap_err();
    assert!(matches!(error, SessionError::Unavailable { .. }), "{error}");
    let error = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err();
    assert!(matches!(error, SessionError::Unavailable { .. }), "{error}");
    assert!(service.flush().await.is_err());
}

#[tokio::test]
async fn case_88_s32_a_state_that_is_no_object_is_damaged_and_named() {
    let bad = ["null", "[]", "", "{bad", "\"x\""];
    for (layout, bad) in LAYOUTS.into_iter().flat_map(|layout| bad.map(|bad| (layout, bad))) {
        let place = Place::of(layout);
        let service = place.open().await;
        let mut session = created(&service, &key("s"), json!({})).await;
        let mut other = created(&service, &key("other"), json!({})).await;
        place.run(&format!("UPDATE sessions SET state = '{bad}' WHERE id = 's'")).await;
        let error = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err();
        assert!(matches!(&error, SessionError::Corrupt { what, .. } if what.contains("app/user/s")), "{error}");
        let all = ListSessions::new("app");
        let ids = |listed: &ListSessionsResponse| -> Vec<String> {
            listed.sessions.iter().map(|session| session.id().to_string()).collect()
        };
        let listed = service.list_sessions(all.clone()).await.unwrap();
        assert_eq!(ids(&listed), ["other", "s"]);
        let [fault] = &*listed.faults else { panic!("{:?}", listed.faults) };
        assert_eq!(fault.session, key("s"));
        assert!(
            matches!(&*fault.error, SessionError::Corrupt { what, .. } if what.contains("app/user/s")),
            "{fault:?}"
        );
        // Recovery lists them in this way.
        let listed = service.list_sessions(all.without_state()).await.unwrap();
        assert_eq!((ids(&listed), listed.faults.len()), (vec!["other".to_owned(), "s".to_owned()], 0));
        // Appends to other sessions share the transaction, and are not affected.
        let (broken, sound) = tokio::join!(
            service.append_event(&mut session, event("e1", 1.0).with_state("k", 1)),
            service.append_event(&mut other, event("e1", 1.0).with_state("k", 1)),
        );
        assert!(matches!(broken.unwrap_err(), SessionError::Corrupt { .. }));
        sound.unwrap();
    }
}

#[tokio::test]
async fn case_85_90_damaged_events_and_times_are_named() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = place.open().await;
        let mut session = created(&service, &key("s"), json!({})).await;
        service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
        place.run("UPDATE sessions SET update_time = 'junk'").await;
        for error in [
            service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err(),
            service.events_since(&session.head).await.unwrap_err(),
        ] {
            assert!(matches!(error, SessionError::Corrupt { .. }), "{error}");
            assert!(chain(&error).contains("update time of session app/user/s"), "{}", chain(&error));
        }
        assert!(service.append_event(&mut session, event("e2", 2.0)).await.unwrap_err().is_stale());
        place.run("UPDATE sessions SET update_time = 1.0").await;
        for bad in ["{\"actions\": null}", "{bad", "[]"] {
            place.run(&format!("UPDATE events SET event_data = '{bad}'")).await;
            let error = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err();
            assert!(matches!(error, SessionError::Corrupt { .. }), "{error}");
            assert!(chain(&error).contains("event e1 of session app/user/s"), "{}", chain(&error));
        }
    }
}

/// Errors are logged, and stored data may be secret.
#[tokio::test]
async fn damaged_data_is_named_and_not_shown() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = place.open().await;
        let mut session = created(&service, &key("s"), json!({})).await;
        service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
        for bad in ["\"sk-live-1\"", "{\"actions\": \"sk-live-1\"}", "{\"content\": sk-live-1}"] {
            place.run(&format!("UPDATE events SET event_data = '{bad}'")).await;
            let error = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err();
            assert!(matches!(error, SessionError::Corrupt { .. }), "{error}");
            let text = format!("{error} {error:?} {}", chain(&error));
            assert!(text.contains("line 1, column") && !text.contains("sk-live-1"), "{text}");
        }
        place.run("UPDATE sessions SET state = '\"sk-live-1\"'").await;
        let error = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("sk-live-1"), "{error}");
    }
}
