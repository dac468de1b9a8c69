//! Payloads that are missing, damaged or out of reach.

use std::sync::Arc;

use pleach_artifact::{ArtifactService as _, SaveArtifact};
use pleach_core::Part;
use pleach_session::{GetSessionConfig, LostPayload, SessionError, SessionService as _, SessionServiceExt as _};
use serde_json::json;

use crate::support::{Kept, event, key, long, references, scope_of};

async fn one_large() -> (Kept, String) {
    let kept = Kept::above(10);
    let mut session = kept.session().await;
    kept.sessions.append_event(&mut session, event("e1", long(100))).await.unwrap();
    let name = references(&kept.rows().await[0]).remove(0).1;
    (kept, name)
}

async fn fails(kept: &Kept) -> SessionError {
    kept.sessions.get_session(&key(), GetSessionConfig::all()).await.unwrap_err()
}

fn check_lost(error: &SessionError, name: &str, why: &str) {
    let SessionError::PayloadLost(lost) = error else { panic!("{error}") };
    let LostPayload { key: session, event, place, artifact, reason } = &**lost;
    assert_eq!((session, &*event.to_string(), &**place, &**artifact), (&key(), "e1", "output", name));
    assert!(reason.contains(why), "{reason}");
    let text = error.to_string();
    for named in ["app/ana/s1", "e1", "output", name, "restore"] {
        assert!(text.contains(named), "{text}");
    }
    assert_eq!(error.code(), "PayloadLostError");
}

#[tokio::test]
async fn a_missing_payload_is_named() {
    let (kept, name) = one_large().await;
    kept.artifacts.delete_artifact(&scope_of("s1").artifact(&name)).await.unwrap();
    check_lost(&fails(&kept).await, &name, "is missing");
    // A load that needs no payload works.
    let newest = kept.sessions.get_session(&key(), GetSessionConfig::recent(0)).await.unwrap().unwrap();
    assert_eq!(kept.sessions.events_since(&newest.head).await.unwrap().map(|_| ()), Some(()));
    kept.sessions.delete_session(&key()).await.unwrap();
}

#[tokio::test]
async fn other_content_is_never_returned() {
    for other in
        [Part::bytes("application/json", b"\"other\"".to_vec()), Part::text("other"), Part::bytes("", b"x".to_vec())]
    {
        let (kept, name) = one_large().await;
        kept.artifacts.save_artifact(SaveArtifact::new(scope_of("s1").artifact(&name), other)).await.unwrap();
        check_lost(&fails(&kept).await, &name, "is damaged");
    }
}

/// The row was changed by hand, or by another program.
#[tokio::test]
async fn references_that_fit_nothing_are_refused() {
    for (taken, why) in [
        (json!([{"place": "content.parts[7].text", "artifact": "NAME", "bytes": 1}]), "content"),
        (json!([{"place": "somewhere", "artifact": "NAME", "bytes": 1}]), "does not know"),
        (json!([{"place": "output", "artifact": "../other", "bytes": 1}]), "is missing"),
    ] {
        let (kept, name) = one_large().await;
        let mut row = kept.rows().await.remove(0);
        row["id"] = json!("e2");
        row["custom_metadata"]["pleach_payloads"]["taken"] =
            serde_json::from_str(&taken.to_string().replace("NAME", &name)).unwrap();
        let mut session = kept.inner.get_session(&key(), GetSessionConfig::recent(0)).await.unwrap().unwrap();
        kept.inner.append(&mut session.head, Arc::new(serde_json::from_value(row).unwrap())).await.unwrap();
        let error = fails(&kept).await;
        assert!(matches!(&error, SessionError::PayloadLost(lost) if lost.reason.contains(why)), "{error}");
    }
    let (kept, _) = one_large().await;
    let mut session = kept.inner.get_session(&key(), GetSessionConfig::recent(0)).await.unwrap().unwrap();
    let metadata = json!({"pleach_payloads": "x"}).as_object().unwrap().clone();
    kept.inner.append_event(&mut session, event("e2", 1).with_custom_metadata(metadata)).await.unwrap();
    let error = fails(&kept).await;
    assert!(matches!(&error, SessionError::Corrupt { what, .. } if what.contains("event e2")), "{error}");
}

#[tokio::test]
async fn unreachable_artifacts_are_not_lost() {
    let (kept, name) = one_large().await;
    kept.artifacts.set_down(true);
    let error = fails(&kept).await;
    assert!(matches!(error, SessionError::Unavailable { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&name) && text.contains("event e1") && text.contains("it is down"), "{text}");
    let mut session = kept.inner.get_session(&key(), GetSessionConfig::recent(0)).await.unwrap().unwrap();
    let before = session.head.clone();
    let error = kept.sessions.append_event(&mut session, event("e2", long(100))).await.unwrap_err();
    assert!(matches!(error, SessionError::Unavailable { .. }), "{error}");
    assert_eq!((&session.head, kept.rows().await.len()), (&before, 1));
    // A small event needs no artifact. The large one is stored once the artifacts are reachable again.
    kept.sessions.append_event(&mut session, event("e3", 1)).await.unwrap();
    kept.artifacts.set_down(false);
    kept.sessions.append_event(&mut session, event("e2", long(100))).await.unwrap();
    assert_eq!(kept.loaded().await.events.len(), 3);
}
