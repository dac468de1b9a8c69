//! Redactions of values that are payloads.

use std::sync::Arc;

use pleach_core::{Content, Event, Part};
use pleach_session::{Redaction, SessionError, SessionResult, SessionService as _, SessionServiceExt as _};
use serde_json::json;

use crate::support::{Kept, complete, event, key, long, references};

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

/// What is left of a payload is another payload.
#[tokio::test]
async fn a_value_inside_of_a_payload_is_redacted() {
    let kept = Kept::above(50);
    let mut session = kept.session().await;
    kept.sessions.append_event(&mut session, event("e1", json!({"card": "4111", "text": long(100)}))).await.unwrap();
    let old = kept.artifacts.names().await;
    redact(&kept, "/output/card").await.unwrap();
    let new = kept.artifacts.names().await;
    assert!(new.len() == 1 && new != old, "{new:?}");
    assert_eq!(references(&kept.rows().await[0]), [("output".to_owned(), new[0].clone())]);
    assert_eq!(kept.loaded().await.events[0].output(), Some(&json!({"card": "[redacted]", "text": long(100)})));
    redact(&kept, "/output/text").await.unwrap();
    assert_eq!(kept.artifacts.names().await, [""; 0]);
    assert_eq!(kept.loaded().await.events[0].output(), Some(&json!({"card": "[redacted]", "text": "[redacted]"})));
}

/// The process dies, or the artifact service fails, behind the event: the same call deletes what is left.
#[tokio::test]
async fn a_redaction_that_left_a_payload_is_completed_by_the_same_call() {
    let kept = Kept::above(50);
    let mut session = kept.session().await;
    kept.sessions.append_event(&mut session, event("e1", long(100))).await.unwrap();
    // The row alone is redacted, as it is when the process dies behind it.
    let names = kept.artifacts.names().await;
    let whole = Event::clone(&kept.loaded().await.events[0]).with_output(json!("[redacted]"));
    let mut head = kept.loaded().await.head;
    kept.artifacts.set_down(true);
    let error = kept.sessions.redact_event(&mut head, Arc::new(whole), 1.0).await.unwrap_err();
    assert!(
        matches!(&error, SessionError::Unavailable { what, .. } if what.contains("event e1 is redacted")),
        "{error}"
    );
    kept.artifacts.set_down(false);
    assert_eq!(kept.rows().await[0]["output"], "[redacted]");
    assert_eq!(kept.artifacts.names().await, names);
    assert_eq!(kept.loaded().await.events[0].output(), Some(&json!("[redacted]")));
    redact(&kept, "/output").await.unwrap();
    assert_eq!(kept.artifacts.names().await, [""; 0]);
}

/// Without the service an event with references is not redacted: a load would put the payload back.
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

/// Media leaves nothing at its place, so a repetition finds none, and still deletes what is left.
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
    // Nothing refers to a payload any more, so a service without them redacts the rest.
    let rest = Redaction::new(["/content/parts/0/text"], "a request");
    kept.inner.redact(&key(), &"e1".into(), &rest).await.unwrap();
}
