//! The inbox in a database that google-adk uses as well: pleach notices google-adk's appends, and does not disturb it.

use pleach::{CreateSession, ListQuestions, SessionService, connect};
use serde_json::{Value, json};

use crate::adk::Adk;
use crate::database::{Database, Layout};

const IDS: [&str; 2] = ["first", "second"];

fn request(operation: &str, id: &str) -> Value {
    json!({"do": operation, "app": "inbox", "user": "ana", "id": id})
}

/// Lets google-adk load a session and append an event with this content.
fn appends(adk: &mut Adk, session: &str, event: &str, author: &str, part: Value, asks: &[&str]) {
    adk.ask(&request("get", session));
    let role = if author == "user" { "user" } else { "model" };
    let mut append = request("append", session);
    append["event"] = json!({
        "id": format!("{session}-{event}"), "invocation_id": "inv", "author": author,
        "timestamp": 1_760_001_000.0 + event.parse::<f64>().unwrap(),
        "content": {"role": role, "parts": [part]},
    });
    if !asks.is_empty() {
        append["event"]["long_running_tool_ids"] = json!(asks);
    }
    adk.ask(&append);
}

async fn open(service: &dyn SessionService) -> Vec<String> {
    let found = service.list_questions(ListQuestions::new("inbox")).await.unwrap();
    found.items.iter().map(|item| format!("{} {}", item.session.session_id, item.question.id)).collect()
}

pub(crate) async fn the_inbox_notices_what_google_adk_asks_answers_and_deletes(layout: Layout) {
    let Some(database) = Database::loaded(layout).await else { return };
    let Some(mut adk) = Adk::open(&database) else { return };
    let service = connect(&database.url()).await.unwrap();
    for id in IDS {
        service.create_session(CreateSession::new("inbox", "ana").with_session_id(id)).await.unwrap();
    }
    let asks = json!({"function_call": {"id": "q", "name": "adk_request_input", "args": {"message": "Go?"}}});
    let ships = json!({"function_call": {"id": "l", "name": "ship", "args": {}}});
    let answers = json!({"function_response": {"id": "q", "name": "adk_request_input", "response": {"result": "yes"}}});
    for id in IDS {
        appends(&mut adk, id, "1", "user", json!({"text": "hello"}), &[]);
    }
    assert_eq!(open(&*service).await, [""; 0]);
    appends(&mut adk, "second", "2", "wf", asks.clone(), &["q"]);
    appends(&mut adk, "first", "3", "wf", asks, &["q"]);
    appends(&mut adk, "first", "4", "agent", ships, &["l"]);
    assert_eq!(open(&*service).await, ["second q", "first q", "first l"]);
    appends(&mut adk, "first", "5", "user", answers, &[]);
    assert_eq!(open(&*service).await, ["second q", "first l"]);
    // Deletions by google-adk also delete pleach's rows.
    adk.ask(&request("delete", "first"));
    assert_eq!(open(&*service).await, ["second q"]);
    // Both can append to a database in which pleach's own tables were dropped.
    service.delete_session(&pleach::SessionKey::new("inbox", "ana", "second")).await.unwrap();
    assert_eq!(open(&*service).await, [""; 0]);
    assert_eq!(adk.ask(&json!({"do": "list", "app": "inbox", "user": null})), json!([]));
    service.close().await.unwrap();
}
