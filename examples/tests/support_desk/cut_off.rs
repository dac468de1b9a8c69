//! Tests that a process may be killed after any event, and that the next process continues from there.

use pleach::prelude::*;
use pleach::{
    CreateSession, Event, GetSessionConfig, Session, SessionKey, SessionServiceExt as _, SqliteSessionService,
};

use crate::program::Desk;

const TICKET: &str = r#"{"id":"A","user":"ben","text":"A refund, please.","order":1012}"#;

#[tokio::test]
async fn a_killed_run_continues_wherever_it_stopped() {
    let whole = whole_history().await;
    assert_eq!(whole.events.len(), 14);
    for stored in 0..=whole.events.len() {
        let desk = Desk::in_empty_folder(&format!("cut_off_{stored}"));
        store(&desk, &whole, stored).await;
        desk.write("mine.jsonl", TICKET);
        let ended = desk.run(&["mine.jsonl"]);
        assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""), "{stored} events");
        if ended.stdout.contains("1 waiting for a person") {
            let answered = desk.run(&["--answer", "refund-A", "yes"]);
            assert_eq!((answered.status, answered.stderr.as_str()), (Some(0), ""), "{stored} events");
        }
        let after = load(&desk).await;
        assert_eq!(results(&after), results(&whole), "{stored} events");
        assert_eq!(after.state, whole.state, "{stored} events");
    }
}

/// Returns the history of an uninterrupted ticket.
async fn whole_history() -> Session {
    let desk = Desk::in_empty_folder("not_cut_off");
    desk.write("mine.jsonl", TICKET);
    desk.run(&["mine.jsonl"]);
    desk.run(&["--answer", "refund-A", "yes"]);
    load(&desk).await
}

fn key() -> SessionKey {
    SessionKey::new("support_desk", "ben", "A")
}

async fn open(desk: &Desk) -> SqliteSessionService {
    SqliteSessionService::open(desk.folder.join("support_desk.db")).await.expect("the database opens")
}

async fn load(desk: &Desk) -> Session {
    let service = open(desk).await;
    let session = service.get_session(&key(), GetSessionConfig::all()).await.expect("the session loads");
    service.close().await.expect("the database closes");
    session.expect("the session is there")
}

/// Stores the first `count` events, as a process does that is killed after them.
async fn store(desk: &Desk, whole: &Session, count: usize) {
    let service = open(desk).await;
    let request = CreateSession::new("support_desk", "ben").with_session_id("A").with_create_time(1.0);
    let mut session = service.create_session(request).await.expect("a session is made");
    for event in &whole.events[..count] {
        service.append_event(&mut session, Event::clone(event)).await.expect("an event is stored");
    }
    service.close().await.expect("the database closes");
}

/// Returns the results of the node runs, in the order of their paths. A node that ran twice is listed twice.
fn results(session: &Session) -> Vec<(String, String)> {
    let ends = |event: &&std::sync::Arc<Event>| event.output().is_some() || event.is_interrupt();
    let mut results: Vec<_> = session
        .events
        .iter()
        .filter(ends)
        .map(|event| (event.path().to_string(), event.output().map(ToString::to_string).unwrap_or_default()))
        .collect();
    results.sort();
    results
}
