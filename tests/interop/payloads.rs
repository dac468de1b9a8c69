//! Events with references in a database that google-adk uses as well: google-adk reads the references in place of the
//! values, and leaves them intact.

use std::sync::Arc;

use pleach::{
    ArtifactScope, ArtifactService as _, Content, CreateSession, Event, InMemoryArtifactService, Part, PayloadSessions,
    SessionKey, SessionService as _, SessionServiceExt as _, SystemClock, connect,
};
use serde_json::{Value, json};

use crate::adk::Adk;
use crate::database::{Database, Layout};

fn request(operation: &str) -> Value {
    json!({"do": operation, "app": "large", "user": "ana", "id": "s1"})
}

fn event(id: &str, second: f64, event: Event) -> Event {
    let mut event = event;
    event.set_id(id);
    event.set_invocation_id("inv");
    event.set_timestamp(1_760_001_000.0 + second);
    event
}

pub(crate) async fn google_adk_reads_references_appends_and_deletes(layout: Layout) {
    let Some(database) = Database::loaded(layout).await else { return };
    let Some(mut adk) = Adk::open(&database) else { return };
    let artifacts = Arc::new(InMemoryArtifactService::with_clock(Arc::new(SystemClock)));
    let service = PayloadSessions::new(connect(&database.url()).await.unwrap(), artifacts.clone()).with_threshold(1000);
    let key = SessionKey::new("large", "ana", "s1");
    let create = CreateSession::new("large", "ana").with_session_id("s1");
    let mut session = service.create_session(create).await.unwrap();
    let long = "x".repeat(100_000);
    let parts = [Part::text(long.clone()), Part::bytes("image/png", vec![1; 5000])];
    let gives = Event::from_author("wf").with_output(json!({"text": long}));
    let says = Event::from_author("agent").with_content(Content::new("model", parts));
    for event in [event("e1", 1.0, gives), event("e2", 2.0, says)] {
        service.append_event(&mut session, event).await.unwrap();
    }

    let read = adk.ask(&request("get"));
    let output = &read["events"][0]["output"];
    assert_eq!(output["bytes"], 100_011, "{read}");
    let name = output["pleach_payload"].as_str().unwrap();
    assert_eq!(read["events"][0]["customMetadata"]["pleach_payloads"]["taken"][0]["artifact"], name);
    let texts: Vec<&str> = read["events"][1]["content"]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["text"].as_str().unwrap())
        .collect();
    assert!(texts[0].starts_with("[payload payload-") && texts[0].ends_with(", 100000 bytes]"), "{texts:?}");
    assert!(texts[1].starts_with("[payload payload-") && texts[1].ends_with(", 5000 bytes]"), "{texts:?}");
    assert!(!read.to_string().contains(&"x".repeat(1001)));

    let mut append = request("append");
    append["event"] = json!({"id": "e3", "invocation_id": "inv", "author": "user", "timestamp": 1_760_001_003.0,
        "content": {"role": "user", "parts": [{"text": "and on"}]}});
    adk.ask(&append);
    let stale = service.append_event(&mut session, event("e4", 4.0, Event::of(long.clone()))).await.unwrap_err();
    assert!(stale.is_stale(), "{stale}");
    let mut whole = service.get_session(&key, Default::default()).await.unwrap().unwrap();
    assert_eq!(whole.events[..2], session.events[..]);
    assert_eq!(whole.events[2].text(), "and on");
    service.append_event(&mut whole, event("e4", 4.0, Event::of(long))).await.unwrap();
    assert_eq!(adk.ask(&request("get"))["events"].as_array().unwrap().len(), 4);

    // google-adk does not know payloads. A deletion through pleach's service removes the remaining ones.
    adk.ask(&request("delete"));
    assert_eq!(service.get_session(&key, Default::default()).await.unwrap(), None);
    let scope = ArtifactScope::session(&SessionKey::new("large.payloads", "ana", "s1"));
    assert_eq!(artifacts.list_artifact_keys(&scope).await.unwrap().len(), 4);
    service.delete_session(&key).await.unwrap();
    assert_eq!(artifacts.list_artifact_keys(&scope).await.unwrap(), [""; 0]);
    service.close().await.unwrap();
}
