//! Notes of settled sessions, and the indexes for pages, in a database that google-adk uses as well: if google-adk
//! changes a session, the session is listed again.

use std::sync::Arc;

use pleach::{CreateSession, ListSessions, SessionHead, SessionKey, SessionService, SessionServiceExt as _, connect};
use serde_json::{Value, json};

use crate::adk::Adk;
use crate::database::{Database, Layout};

const APP: &str = "settled";

fn key(id: &str) -> SessionKey {
    SessionKey::new(APP, "ana", id)
}

fn request(operation: &str, id: &str) -> Value {
    json!({"do": operation, "app": APP, "user": "ana", "id": id})
}

async fn unsettled(sessions: &Arc<dyn SessionService>) -> Vec<String> {
    let listed = sessions.list_sessions(ListSessions::new(APP).unsettled_for("v1").without_state()).await.unwrap();
    listed.sessions.iter().map(|session| session.id().to_string()).collect()
}

async fn head(sessions: &Arc<dyn SessionService>, id: &str) -> SessionHead {
    sessions.get_session(&key(id), Default::default()).await.unwrap().unwrap().head
}

async fn create(sessions: &Arc<dyn SessionService>, id: &str) {
    let request = CreateSession::new(APP, "ana").with_session_id(id).with_create_time(1_760_000_000.0);
    let mut session = sessions.create_session(request).await.unwrap();
    let mut event = pleach::Event::message("hello");
    event.set_id(format!("{id}-e1").as_str());
    event.set_timestamp(1_760_000_001.0);
    sessions.append_event(&mut session, event).await.unwrap();
}

pub(crate) async fn google_adk_ignores_notes_and_its_changes_are_noticed(layout: Layout) {
    let Some(database) = Database::loaded(layout).await else { return };
    let Some(mut adk) = Adk::open(&database) else { return };
    let sessions = connect(&database.url()).await.unwrap();
    for id in ["a", "b", "c", "d"] {
        create(&sessions, id).await;
    }
    let mut heads = Vec::new();
    for id in ["a", "b", "c", "d"] {
        heads.push(head(&sessions, id).await);
    }
    sessions.note_settled("v1", &heads).await.unwrap();
    assert!(unsettled(&sessions).await.is_empty());

    // google-adk reads, lists and appends: at a later time, at the time of the last event, and without a state.
    let listed = adk.ask(&json!({"do": "list", "app": APP, "user": null}));
    assert_eq!(listed.as_array().unwrap().len(), 4, "{listed}");
    for (id, time, state) in [
        ("a", 1_760_000_009.0, json!({"k": 1})),
        ("b", 1_760_000_001.0, json!({"k": 1})),
        ("c", 1_760_000_001.0, json!({})),
    ] {
        assert_eq!(adk.ask(&request("get", id))["events"].as_array().unwrap().len(), 1);
        let mut append = request("append", id);
        append["event"] = json!({"id": format!("{id}-theirs"), "invocation_id": "i", "author": "user", "timestamp": time,
            "actions": {"state_delta": state}});
        adk.ask(&append);
        assert!(unsettled(&sessions).await.contains(&id.to_owned()), "{id} has a new event");
    }
    let mut changed = unsettled(&sessions).await;
    changed.sort();
    assert_eq!(changed, ["a", "b", "c"]);
    let heads = [head(&sessions, "a").await, head(&sessions, "b").await, head(&sessions, "c").await];
    sessions.note_settled("v1", &heads).await.unwrap();
    assert!(unsettled(&sessions).await.is_empty());

    // google-adk deletes a session, and the id is used again with the same times.
    for id in ["a", "d"] {
        adk.ask(&request("delete", id));
        assert_eq!(adk.ask(&request("get", id)), Value::Null);
    }
    create(&sessions, "d").await;
    assert_eq!(unsettled(&sessions).await, ["d"]);
    assert_eq!(adk.ask(&request("get", "d"))["events"].as_array().unwrap().len(), 1);
    assert_eq!(sessions.find_sessions(&APP.into(), &"d".into()).await.unwrap(), [key("d")]);
    let listed = adk.ask(&json!({"do": "list", "app": APP, "user": "ana"}));
    assert_eq!(listed.as_array().unwrap().len(), 3, "{listed}");
    sessions.close().await.unwrap();
}
