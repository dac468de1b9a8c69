//! Tests of the commands that write.

use std::path::Path;
use std::sync::Arc;

use pleach::{
    ArtifactScope, ArtifactService as _, CreateSession, Event, FileArtifactService, PayloadSessions, SessionKey,
    SessionService as _, SessionServiceExt as _, SystemClock, connect,
};
use serde_json::json;

use crate::program::{fill, loaded, pleach, url};

#[tokio::test]
async fn what_is_exported_is_imported_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (url(folder.path(), "from.db"), url(folder.path(), "to.db"));
    fill(&from).await;
    let file = folder.path().join("sessions.jsonl");
    let file = file.to_str().unwrap();
    let exported = pleach(&["sessions", "export", "--sessions", &from, "--app", "shop", "--output", file]);
    assert_eq!(exported.code, 0, "{exported:?}");
    let again = pleach(&["sessions", "export", "--sessions", &from, "--output", file]);
    assert!(again.code == 1 && again.err.contains("sessions.jsonl"), "{again:?}");
    let imported = pleach(&["--json", "sessions", "import", file, "--sessions", &to]).values().remove(0);
    assert_eq!((&imported["imported"], &imported["events"]), (&2.into(), &5.into()));
    for (user, id) in [("ana", "s1"), ("ben", "s2")] {
        assert_eq!(loaded(&to, "shop", user, id).await, loaded(&from, "shop", user, id).await);
    }
    let again = pleach(&["sessions", "import", file, "--sessions", &to]);
    assert!(again.code == 1 && again.err.contains("shop/ana/s1 already exists in the database"), "{again:?}");
    let again = pleach(&["sessions", "import", file, "--sessions", &to, "--skip-existing"]);
    assert_eq!(again.out, "0 sessions with 0 events imported, 2 existed already\n");
}

// State that sessions share belongs to the database. An import adds missing keys, but changes no existing key.
#[tokio::test]
async fn an_import_leaves_the_state_of_apps_and_users_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (url(folder.path(), "from.db"), url(folder.path(), "to.db"));
    fill(&from).await;
    fill(&to).await;
    assert_eq!(pleach(&["sessions", "delete", "s1", "--app", "shop", "--yes", "--sessions", &to]).code, 0);
    let file = folder.path().join("one.jsonl");
    std::fs::write(&file, pleach(&["sessions", "export", "--app", "shop", "--id", "s1", "--sessions", &from]).out)
        .unwrap();
    let imported = pleach(&["sessions", "import", file.to_str().unwrap(), "--sessions", &to]);
    assert_eq!(imported.code, 0, "{imported:?}");
    // The event of `s1` sets it to "s1"; `s2` was the last one to set it in this database.
    assert_eq!(loaded(&to, "shop", "ana", "s1").await.state["app:last"], "s2");
    assert_eq!(loaded(&to, "shop", "ana", "s1").await.events, loaded(&from, "shop", "ana", "s1").await.events);
}

#[tokio::test]
async fn a_line_that_is_not_a_session_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.jsonl");
    std::fs::write(&file, "\n{\"id\": 1}\n").unwrap();
    let ran = pleach(&["sessions", "import", file.to_str().unwrap(), "--sessions", &url(folder.path(), "a.db")]);
    assert!(ran.code == 1 && ran.err.contains("line 2 of the file is not a session"), "{ran:?}");
}

#[tokio::test]
async fn a_database_is_migrated_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let from = url(folder.path(), "from.db");
    fill(&from).await;
    let mut targets = vec![format!("sqlite+aiosqlite:///{}", folder.path().join("v1.db").display())];
    let schema = pleach_contract::own_tests::Schema::for_test().await;
    targets.extend(schema.iter().map(|schema| schema.url()));
    for to in &targets {
        let ran = pleach(&["migrate", &from, to]);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (0, "3 sessions copied, 0 already existed; 7 events compared\n"),
            "{ran:?}"
        );
        for (app, user, id) in [("shop", "ana", "s1"), ("shop", "ben", "s2"), ("desk", "ana", "s1")] {
            let (copied, original) = (loaded(to, app, user, id).await, loaded(&from, app, user, id).await);
            assert_eq!((copied.events, copied.state), (original.events, original.state));
        }
        let again = pleach(&["migrate", &from, to]);
        assert!(again.code == 1 && again.err.contains("already exists in the database"), "{again:?}");
        assert_eq!(pleach(&["migrate", &from, to, "--skip-existing"]).code, 0);
    }
}

// The state keeps what an event has set, even if the value has been redacted from the event.
#[tokio::test]
async fn copies_of_redacted_events_have_the_state_of_their_source() {
    let folder = tempfile::tempdir().unwrap();
    let from = url(folder.path(), "from.db");
    fill(&from).await;
    let store = connect(&from).await.unwrap();
    let mut session = loaded(&from, "shop", "ben", "s2").await;
    for (id, count) in [("e4", 3), ("e5", 4)] {
        let mut event = Event::from_author("clerk").with_state("count", count).with_state("user:card", "4111");
        event.set_id(id);
        store.append_event(&mut session, event).await.unwrap();
    }
    store.close().await.unwrap();
    for (event, path) in [("e4", "/actions/state_delta/count"), ("e5", "/actions/state_delta")] {
        let start = ["sessions", "redact", "s2", event, "--path", path, "--sessions", &from];
        let ran = pleach(&[&start[..], &["--app", "shop", "--user", "ben", "--reason", "r", "--yes"]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let original = loaded(&from, "shop", "ben", "s2").await;
    assert_eq!((&original.state["count"], &original.state["user:card"]), (&json!(4), &json!("4111")));
    let file = folder.path().join("sessions.jsonl");
    let (migrated, imported) = (url(folder.path(), "migrated.db"), url(folder.path(), "imported.db"));
    let ran = pleach(&["migrate", &from, &migrated]);
    assert_eq!(ran.code, 0, "{ran:?}");
    std::fs::write(&file, pleach(&["sessions", "export", "--sessions", &from]).out).unwrap();
    let ran = pleach(&["sessions", "import", file.to_str().unwrap(), "--sessions", &imported]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for to in [migrated, imported] {
        let copied = loaded(&to, "shop", "ben", "s2").await;
        assert_eq!((copied.events, copied.state), (original.events.clone(), original.state.clone()), "{to}");
    }
}

// Sessions with unreadable state, including user state, do not block the others.
#[tokio::test]
async fn what_is_damaged_is_left_out_of_copies() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (url(folder.path(), "from.db"), url(folder.path(), "to.db"));
    let store = connect(&from).await.unwrap();
    for (user, id, state) in [
        ("ana", "s1", json!({"whole": 1})),
        ("ana", "s2", json!({"damaged": 1})),
        ("ben", "s3", json!({"user:damaged": 1})),
    ] {
        let session =
            CreateSession::new("shop", user).with_session_id(id).with_state(state.as_object().unwrap().clone());
        store.create_session(session).await.unwrap();
    }
    store.close().await.unwrap();
    let file = folder.path().join("from.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let object = br#"{"damaged""#;
    for start in 0..bytes.len() - object.len() {
        if bytes[start..].starts_with(object) {
            bytes[start] = b'[';
        }
    }
    std::fs::write(&file, bytes).unwrap();

    let listed = pleach(&["sessions", "list", "--sessions", &from]);
    assert!(listed.code == 0 && listed.out.lines().count() == 3, "{listed:?}");
    let broken: Vec<&str> = listed.out.lines().filter(|line| line.contains("(cannot be read: ")).collect();
    assert!(
        broken.len() == 2 && ["s2", "s3"].iter().all(|id| broken.iter().any(|line| line.contains(id))),
        "{listed:?}"
    );
    let listed = pleach(&["sessions", "list", "--json", "--sessions", &from]);
    let faults: Vec<bool> = listed.values().iter().map(|session| session["fault"].is_string()).collect();
    assert_eq!(faults.iter().filter(|is_broken| **is_broken).count(), 2, "{listed:?}");
    let exported = pleach(&["sessions", "export", "--sessions", &from]);
    assert!(exported.out.contains("whole") && !exported.out.contains("damaged"), "{exported:?}");
    for ran in [exported, pleach(&["migrate", &from, &to])] {
        assert!(ran.code == 1 && ran.err.contains("cannot be read: 2"), "{ran:?}");
        assert!(["shop/ana/s2", "shop/ben"].iter().all(|key| ran.err.contains(key)), "{ran:?}");
    }
    assert_eq!(loaded(&to, "shop", "ana", "s1").await.state, json!({"whole": 1}).as_object().unwrap().clone());
}

// google-adk stores such values. They cannot be read, but the other values of the state are copied.
#[tokio::test]
async fn values_of_states_that_cannot_be_read_are_named_and_the_rest_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (url(folder.path(), "from.db"), url(folder.path(), "to.db"));
    let store = connect(&from).await.unwrap();
    let planted = format!("PLANT{}", "x".repeat(313));
    for (id, state) in [
        ("s1", json!({"whole": 1, "odd": planted, "user:odd": planted, "app:odd": planted, "app:whole": 2})),
        ("s2", json!({"whole": 3})),
    ] {
        let session =
            CreateSession::new("shop", "ana").with_session_id(id).with_state(state.as_object().unwrap().clone());
        store.create_session(session).await.unwrap();
    }
    store.close().await.unwrap();
    let file = folder.path().join("from.db");
    let mut bytes = std::fs::read(&file).unwrap();
    for start in 0..bytes.len() - 320 {
        if bytes[start..].starts_with(br#""PLANT"#) {
            // The replacement is as long as the original text, but nested too deep.
            bytes[start..start + 160].fill(b'[');
            bytes[start + 160..start + 320].fill(b']');
        }
    }
    std::fs::write(&file, bytes).unwrap();

    let listed = pleach(&["sessions", "list", "--sessions", &from]);
    assert!(
        listed.code == 0 && listed.out.contains("(state that cannot be read: app:odd, odd, user:odd)"),
        "{listed:?}"
    );
    let listed = pleach(&["sessions", "list", "--json", "--sessions", &from]).values();
    let odd = listed.iter().find(|session| session["id"] == "s1").unwrap();
    assert!(odd["unreadableState"]["odd"].is_string(), "{odd}");
    let shown = pleach(&["sessions", "show", "s1", "--sessions", &from]);
    assert!(shown.out.contains("state    user:odd cannot be read: "), "{shown:?}");
    let exported = pleach(&["sessions", "export", "--sessions", &from]);
    assert_eq!(exported.out.lines().count(), 2, "{exported:?}");
    for ran in [exported, pleach(&["migrate", &from, &to])] {
        assert!(
            ran.code == 1 && ran.err.contains("values of states left out, because they cannot be read: 3"),
            "{ran:?}"
        );
        for named in ["session shop/ana/s1: the value of state key \"odd\"", "user shop/ana: ", "app shop: "] {
            assert_eq!(ran.err.matches(named).count(), 1, "{ran:?}");
        }
    }
    assert_eq!(
        loaded(&to, "shop", "ana", "s1").await.state,
        json!({"whole": 1, "app:whole": 2}).as_object().unwrap().clone()
    );
}

// If a copy was changed later, the comparison reports it.
#[tokio::test]
async fn a_copy_that_differs_is_named() {
    use pleach::{Event, SessionServiceExt as _, connect};
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (url(folder.path(), "from.db"), url(folder.path(), "to.db"));
    fill(&from).await;
    assert_eq!(pleach(&["migrate", &from, &to]).code, 0);
    let mut session = loaded(&to, "desk", "ana", "s1").await;
    let store = connect(&to).await.unwrap();
    store.append_event(&mut session, Event::from_author("clerk").with_message("more")).await.unwrap();
    let ran = pleach(&["migrate", &from, &to, "--skip-existing"]);
    assert!(ran.code == 4 && ran.err.contains("session desk/ana/s1"), "{ran:?}");
}

/// Creates the session `shop/ana/s1` with an output of 1000 bytes in `payloads`.
async fn fill_outside(url: &str, payloads: &Path) -> PayloadSessions {
    let artifacts = FileArtifactService::open(payloads, Arc::new(SystemClock)).await.unwrap();
    let store = PayloadSessions::new(connect(url).await.unwrap(), Arc::new(artifacts)).with_threshold(100);
    let mut session = store.create_session(CreateSession::new("shop", "ana").with_session_id("s1")).await.unwrap();
    store.append_event(&mut session, Event::of("x".repeat(1000))).await.unwrap();
    store
}

// A copy with references would lose the values when the original is deleted.
#[tokio::test]
async fn copies_need_the_values_that_are_outside_of_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (url(folder.path(), "from.db"), url(folder.path(), "to.db"));
    let payloads = folder.path().join("payloads");
    let store = fill_outside(&from, &payloads).await;
    let payloads = payloads.to_str().unwrap();

    for (refused, out) in [
        (pleach(&["sessions", "export", "--sessions", &from]), ""),
        (pleach(&["migrate", &from, &to]), "0 sessions copied, 0 already existed; 0 events compared\n"),
    ] {
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains("shop/ana/s1") && refused.err.contains("--from-payloads"), "{refused:?}");
        assert!(
            refused.err.contains("left out, because values of them are missing or cannot be read: 1"),
            "{refused:?}"
        );
        assert_eq!(refused.out, out);
    }
    let missing = pleach(&["sessions", "export", "--sessions", &from, "--payloads", &format!("{payloads}-2")]);
    assert!(missing.code == 1 && missing.err.contains("payloads-2"), "{missing:?}");

    let exported = pleach(&["sessions", "export", "--sessions", &from, "--payloads", payloads]);
    assert!(exported.out.contains(&"x".repeat(1000)) && !exported.out.contains("pleach_payload"), "{exported:?}");
    let migrated = pleach(&["migrate", &from, &to, "--from-payloads", payloads]);
    assert_eq!(migrated.code, 0, "{migrated:?}");
    // Sessions with a missing payload or a forged list of payloads do not block the others.
    let mut broken = store.create_session(CreateSession::new("shop", "ben").with_session_id("s2")).await.unwrap();
    store.append_event(&mut broken, Event::of("y".repeat(1000))).await.unwrap();
    let (user, third) = (SessionKey::new("shop.payloads", "ben", "s2"), url(folder.path(), "third.db"));
    let files = FileArtifactService::open(payloads, Arc::new(SystemClock)).await.unwrap();
    for name in files.list_artifact_keys(&ArtifactScope::session(&user)).await.unwrap() {
        files.delete_artifact(&ArtifactScope::session(&user).artifact(&name)).await.unwrap();
    }
    let plain = connect(&from).await.unwrap();
    let mut forged = plain.create_session(CreateSession::new("shop", "eve").with_session_id("s3")).await.unwrap();
    let note = json!({"pleach_payloads": "forged"}).as_object().unwrap().clone();
    plain.append_event(&mut forged, Event::of(1).with_custom_metadata(note)).await.unwrap();
    plain.close().await.unwrap();
    for partial in [
        pleach(&["sessions", "export", "--sessions", &from, "--payloads", payloads]),
        pleach(&["migrate", &from, &third, "--from-payloads", payloads]),
    ] {
        assert_eq!(partial.code, 1, "{partial:?}");
        assert!(
            ["shop/ben/s2", "shop/eve/s3"].iter().all(|key| partial.err.contains(key))
                && partial.err.contains("cannot be read: 2"),
            "{partial:?}"
        );
        assert!(!partial.err.contains("shop/ana/s1"), "{partial:?}");
    }
    assert_eq!(loaded(&third, "shop", "ana", "s1").await.events.len(), 1);
    // The copy needs neither the original nor its payloads.
    let deleted = pleach(&["sessions", "delete", "s1", "--yes", "--sessions", &from, "--payloads", payloads]);
    assert_eq!(deleted.code, 0, "{deleted:?}");
    let copy = loaded(&to, "shop", "ana", "s1").await;
    assert_eq!(copy.events[0].output().unwrap().as_str().unwrap().len(), 1000);
    let scope = ArtifactScope::session(&SessionKey::new("shop.payloads", "ana", "s1"));
    let artifacts = FileArtifactService::open(payloads, Arc::new(SystemClock)).await.unwrap();
    assert_eq!(artifacts.list_artifact_keys(&scope).await.unwrap(), [""; 0]);
    store.close().await.unwrap();
}
