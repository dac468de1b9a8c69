//! Runs the command, and fills databases for it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use pleach::{CreateSession, Event, RequestInput, SessionKey, SessionService, SessionServiceExt as _, connect};
use serde_json::{Value, json};

/// The result of a call of the command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Returns the lines of standard output as JSON.
    pub(crate) fn values(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Runs `pleach` with these arguments, but without the environment variables that it reads.
pub(crate) fn pleach(args: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pleach"));
    command.args(args).env_remove("PLEACH_SESSIONS").env_remove("PLEACH_PAYLOADS").stdin(Stdio::null());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
}

pub(crate) fn url(folder: &Path, name: &str) -> String {
    format!("sqlite:{}", folder.join(name).display())
}

fn event(author: &str, id: &str, time: f64) -> Event {
    let mut event = Event::from_author(author).with_message(format!("I am {id}"));
    event.set_id(id);
    event.set_timestamp(time);
    event.set_invocation_id("e-1");
    event
}

/// Creates two sessions of the app `shop` and one of `desk`, with state of every scope and an open question.
pub(crate) async fn fill(url: &str) {
    let store = connect(url).await.unwrap();
    for (app, user, id) in [("shop", "ana", "s1"), ("shop", "ben", "s2"), ("desk", "ana", "s1")] {
        let state = json!({"kept": 1, "app:open": true, "user:language": user});
        let create = CreateSession::new(app, user).with_session_id(id).with_create_time(1_700_000_000.0);
        let mut session = store.create_session(create.with_state(object(state))).await.unwrap();
        let said = event("user", "e1", 1_700_000_001.25);
        let set = event("clerk", "e2", 1_700_000_002.5).with_state("count", 2).with_state("app:last", id);
        for event in [said, set] {
            store.append_event(&mut session, event).await.unwrap();
        }
        if id == "s2" {
            let mut asks = RequestInput::<bool>::ask("ok", "Refund?\u{1b}[2J").assign_to("lead").into_event("ok");
            asks.set_id("e3");
            asks.set_timestamp(1_700_000_003.0);
            asks.set_invocation_id("e-1");
            store.append_event(&mut session, asks).await.unwrap();
        }
    }
    store.close().await.unwrap();
}

pub(crate) async fn loaded(url: &str, app: &str, user: &str, id: &str) -> pleach::Session {
    let store = connect(url).await.unwrap();
    let session = store.get_session(&SessionKey::new(app, user, id), Default::default()).await.unwrap().unwrap();
    store.close().await.unwrap();
    session
}

fn object(value: Value) -> pleach::Map {
    value.as_object().cloned().unwrap()
}
