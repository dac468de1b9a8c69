//! Appends that are sent again, by callers that have seen their event and by callers that have not.
// S34

use pleach_contract::sessions::{created, event, ids, loaded};
use pleach_core::Revision;
use pleach_session::{SessionError, SessionService as _, SessionServiceExt as _};
use serde_json::json;

use super::{Database, key};

/// Revisions are distinct but not ordered: an event that is older than the session's creation still comes after it.
#[tokio::test]
async fn s34_a_lost_answer_is_found_also_when_times_go_back() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    let sent = event("e1", -5.0).with_state("k", 1);
    let mut lost = session.head.clone();
    service.append(&mut lost, sent.clone().into()).await.unwrap();
    service.append_event(&mut session, sent).await.unwrap();
    assert_eq!(session.revision(), lost.revision());
    assert_eq!(session, loaded(&service, &key("s")).await);
    service.append_event(&mut session, event("e2", -6.0)).await.unwrap();
    assert_eq!(ids(&loaded(&service, &key("s")).await), ["e2", "e1"]);
}

/// The head of a caller that has seen an event does not change when the caller appends the event again, whatever the
/// times are.
#[tokio::test]
async fn s34_repeating_a_seen_event_does_not_move_the_head() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut writer = created(&service, &key("s"), json!({})).await;
    let mut seen = vec![writer.clone()];
    let sent: Vec<_> =
        [3.0, 1.0, 1.0, 2.0].into_iter().enumerate().map(|(n, time)| event(&format!("e{n}"), time)).collect();
    for event in &sent {
        service.append_event(&mut writer, event.clone()).await.unwrap();
        seen.push(loaded(&service, &key("s")).await);
    }
    for (count, session) in seen.iter().enumerate() {
        for (number, event) in sent.iter().enumerate() {
            let mut again = session.clone();
            service.append_event(&mut again, event.clone()).await.unwrap();
            if number < count {
                assert_eq!(again, *session, "e{number} after {count} events");
            } else {
                assert_eq!(again.revision(), seen[number + 1].revision(), "e{number} after {count} events");
            }
        }
    }
}

/// Numbers that are equal but spelled differently make different events, as everywhere else.
#[tokio::test]
async fn s34_another_spelling_is_another_event() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    service.append_event(&mut session, event("e1", 1.0).with_state("n", 1)).await.unwrap();
    let error = service.append_event(&mut session, event("e1", 1.0).with_state("n", 1.0)).await.unwrap_err();
    assert!(matches!(error, SessionError::EventAlreadyExists { .. }), "{error}");
    service.append_event(&mut session, event("e1", 1.0).with_state("n", 1)).await.unwrap();
    assert_eq!(loaded(&service, &key("s")).await, session);
}

/// All events have the same microsecond. The repeated append leads to the revision right after its own event, not after
/// the others.
#[tokio::test]
async fn s34_a_lost_answer_among_events_of_one_time_is_not_taken_for_more() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let session = created(&service, &key("s"), json!({})).await;
    let mut first = session.head.clone();
    service.append(&mut first, event("z-first", 0.0).into()).await.unwrap();
    let mut second = first.clone();
    service.append(&mut second, event("a-second", 0.0).into()).await.unwrap();
    let mut again = session.head.clone();
    service.append(&mut again, event("z-first", 0.0).into()).await.unwrap();
    assert_eq!(again.revision(), first.revision());
    assert_ne!(again.revision(), Revision::default());
    let error = service.append(&mut again, event("third", 0.0).into()).await.unwrap_err();
    assert!(error.is_stale(), "{error}");
}
