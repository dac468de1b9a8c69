//! Redactions of values that are payloads.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pleach_artifact::ArtifactService as _;
use pleach_core::{Content, Event, Part};
use pleach_session::{Redaction, SessionError, SessionResult, SessionService as _, SessionServiceExt as _, Since};
use serde_json::json;

use crate::support::{Kept, complete, event, key, long, references, scope_of};

async fn redact(kept: &Kept, path: &str) -> SessionResult<Arc<Event>> {
    kept.sessions.redact(&key(), &"e1".into(), &Redaction::new([path], "a request").with_time(1.0)).await
}

#[tokio::test]
async fn the_payload_of_a_redacted_value_is_deleted() {
    let kept = Kept::above(50);
    let mut session = kept.session().await;
    for id in ["e1", "e2"] {
        kept.sessions.append_event(&mut session, event(id, long(100))).await.unwrap();
    }
    assert_eq!(kept.artifacts.names().await.len(), 2);
    redact(&kept, "/output").await.unwrap();
    assert_eq!(kept.artifacts.names().await, [references(&kept.rows().await[1])[0].1.clone()]);
    assert_eq!(references(&kept.rows().await[0]), []);
    assert_eq!(kept.rows().await[0]["output"], "[redacted]");
    let loaded = kept.loaded().await;
    assert_eq!(loaded.events[0].output(), Some(&json!("[redacted]")));
    assert_eq!(loaded.events[0].custom_metadata().unwrap().keys().collect::<Vec<_>>(), ["pleach_redactions"]);
    assert_eq!(loaded.events[1], session.events[1]);
}

/// The rest of a partly redacted payload is another payload.
#[tokio::test]
async fn a_value_inside_a_payload_is_redacted() {
    let kept = Kept::above(50);
    let mut session = kept.session().await;
    kept.sessions.append_event(&mut session, event("e1", json!({"card": "4111", "text": long(100)}))).await.unwrap();
    let old = kept.artifacts.names().await;
    redact(&kept, "/output/card").await.unwrap();
    let new = kept.artifacts.names().await;
    assert!(new.len() == 1 && new != old, "{new:?}");
    assert_eq!(references(&kept.rows().await[0]), [("output".to_owned(), new[0].clone())]);
    assert_eq!(kept.loaded().await.events[0].output(), Some(&json!({"card": "[redacted]", "text": long(100)})));
    // A payload that already exists is not saved again.
    let saves = kept.artifacts.saves.load(Ordering::Relaxed);
    redact(&kept, "/output/card").await.unwrap();
    assert_eq!((kept.artifacts.saves.load(Ordering::Relaxed), kept.artifacts.names().await), (saves, new));
    redact(&kept, "/output/text").await.unwrap();
    assert_eq!(kept.artifacts.names().await, [""; 0]);
    assert_eq!(kept.loaded().await.events[0].output(), Some(&json!({"card": "[redacted]", "text": "[redacted]"})));
}

/// The process dies, or the artifact service fails, after the event is stored. The same call then deletes the remaining
/// payload.
#[tokio::test]
async fn a_redaction_that_left_a_payload_is_completed_by_the_same_call() {
    let kept = Kept::above(50);
    let mut session = kept.session().await;
    kept.sessions.append_event(&mut session, event("e1", long(100))).await.unwrap();
    // Only the row is redacted, as if the process had died right after that.
    let names = kept.artifacts.names().await;
    let record = json!({"pleach_redactions": [{"paths": ["/output"], "reason": "a request", "at": 1.0}]});
    let whole = Event::clone(&kept.loaded().await.events[0]).with_output(json!("[redacted]"));
    let whole = whole.with_custom_metadata(record.as_object().unwrap().clone());
    let mut head = kept.loaded().await.head;
    kept.artifacts.keeps_all.store(true, Ordering::Relaxed);
    let error = kept.sessions.redact_event(&mut head, Arc::new(whole), 1.0).await.unwrap_err();
    assert!(
        matches!(&error, SessionError::Unavailable { what, .. } if what.contains("event e1 is redacted")),
        "{error}"
    );
    kept.artifacts.keeps_all.store(false, Ordering::Relaxed);
    assert_eq!(kept.rows().await[0]["output"], "[redacted]");
    assert_eq!(kept.artifacts.names().await, names);
    assert_eq!(kept.loaded().await.events[0].output(), Some(&json!("[redacted]")));
    redact(&kept, "/output").await.unwrap();
    assert_eq!(kept.artifacts.names().await, [""; 0]);
}

/// Without the service, an event with references is not redacted, because a load would put the payload back.
#[tokio::test]
async fn references_are_not_redacted_without_the_service() {
    let kept = Kept::above(50);
    let mut session = kept.session().await;
    kept.sessions.append_event(&mut session, event("e1", long(100))).await.unwrap();
    let redaction = Redaction::new(["/output"], "a request");
    let error = kept.inner.redact(&key(), &"e1".into(), &redaction).await.unwrap_err();
    assert!(error.to_string().contains("through `PayloadSessions`"), "{error}");
    assert_eq!(kept.loaded().await.events, session.events);
}

/// Redacted media leave nothing in their place, so a repetition finds no value, but still deletes the remaining
/// payload.
#[tokio::test]
async fn a_redaction_of_media_can_be_repeated() {
    let kept = Kept::above(50);
    let mut session = kept.session().await;
    let media =
        Event::from_author("node").with_content(Content::new("model", [Part::bytes("image/png", vec![7; 100])]));
    kept.sessions.append_event(&mut session, complete("e1", media)).await.unwrap();
    let path = "/content/parts/0/inline_data";
    let first = redact(&kept, path).await.unwrap();
    assert_eq!((first.text(), kept.artifacts.names().await.len()), ("[redacted]".to_owned(), 0));
    assert_eq!(redact(&kept, path).await.unwrap(), first);
    // No reference to a payload is left, so a service without payloads can redact the rest.
    let rest = Redaction::new(["/content/parts/0/text"], "a request");
    kept.inner.redact(&key(), &"e1".into(), &rest).await.unwrap();
}

/// Only the event's own payloads are read, so the payloads of other events may be lost.
#[tokio::test]
async fn a_lost_payload_does_not_prevent_redactions_of_other_events() {
    let kept = Kept::above(50);
    let mut session = kept.session().await;
    for id in ["e0", "e1"] {
        kept.sessions.append_event(&mut session, event(id, json!({"id": id, "text": long(100)}))).await.unwrap();
    }
    let lost = references(&kept.rows().await[0])[0].1.clone();
    kept.artifacts.delete_artifact(&scope_of("s1").artifact(lost)).await.unwrap();
    kept.artifacts.loads.store(0, Ordering::Relaxed);
    let redacted = redact(&kept, "/output/text").await.unwrap();
    assert_eq!(redacted.output(), Some(&json!({"id": "e1", "text": "[redacted]"})));
    // The payload is loaded twice: to make the redacted event, and to compare it.
    assert_eq!((kept.artifacts.loads.load(Ordering::Relaxed), kept.artifacts.names().await), (2, Vec::new()));
    // If the event's own payload is lost, it is unknown what would be left of it.
    let redaction = Redaction::new(["/output/text"], "a request");
    let error = kept.sessions.redact(&key(), &"e0".into(), &redaction).await.unwrap_err();
    assert!(matches!(error, SessionError::PayloadLost(_)), "{error}");
}

/// The names of deleted payloads do not stay in the event for ever.
#[tokio::test]
async fn deleted_payloads_are_no_longer_named() {
    let kept = Kept::above(50);
    let mut session = kept.session().await;
    kept.sessions.append_event(&mut session, event("e1", json!({"a": long(100), "b": long(100)}))).await.unwrap();
    let gone = async || kept.rows().await[0]["custom_metadata"]["pleach_payloads"]["gone"].clone();
    let first = references(&kept.rows().await[0])[0].1.clone();
    redact(&kept, "/output/a").await.unwrap();
    assert_eq!(gone().await, json!([first]));
    let second = references(&kept.rows().await[0])[0].1.clone();
    redact(&kept, "/output/b").await.unwrap();
    assert_eq!(gone().await, json!([second]));
    redact(&kept, "/output").await.unwrap();
    let metadata = kept.rows().await[0]["custom_metadata"].clone();
    assert_eq!(metadata.as_object().unwrap().keys().collect::<Vec<_>>(), ["pleach_redactions"]);
}

/// A redaction deletes a payload after a load has read the rows and before it reads the artifacts. The load starts
/// again.
#[tokio::test]
async fn a_load_during_a_redaction_returns_the_redacted_event() {
    let kept = Kept::above(50);
    let mut session = kept.session().await;
    let before = session.head.clone();
    let output = json!({"a": long(100), "b": long(100)});
    kept.sessions.append_event(&mut session, event("e1", output)).await.unwrap();
    let overtaken = async |path| {
        kept.artifacts.held.notified().await;
        redact(&kept, path).await.unwrap();
        kept.artifacts.released.notify_one();
    };
    kept.artifacts.holds_next.store(true, Ordering::Relaxed);
    let (loaded, ()) = tokio::join!(kept.loaded(), overtaken("/output/a"));
    assert_eq!(loaded.events[0].output(), Some(&json!({"a": "[redacted]", "b": long(100)})));
    kept.artifacts.holds_next.store(true, Ordering::Relaxed);
    let (since, ()) = tokio::join!(kept.sessions.events_since(&before), overtaken("/output/b"));
    let Some(Since::Events(newer)) = since.unwrap() else { panic!("the head is known") };
    assert_eq!(newer.events[0].output(), Some(&json!({"a": "[redacted]", "b": "[redacted]"})));
}
