//! Cases in which pleach and google-adk write to the same sessions, or several of pleach's programs write at once.

use std::collections::BTreeSet;
use std::process::Output;

use pleach::{GetSessionConfig, SessionError, SessionKey, SessionServiceExt as _, connect};
use serde_json::{Value, json};

use crate::adk::Adk;
use crate::database::{Database, Layout};
use crate::expected::same;
use crate::program::{answer, output, start, status};

/// The session of the scenario that these cases append to.
const KEY: [&str; 3] = ["shop", "alice", "s-chat"];

/// The number of programs that append at the same time.
const WRITERS: usize = 6;

/// A time after everything in the scenario.
const LATER: f64 = 1_760_001_000.0;

/// A request about the session.
fn request(operation: &str) -> Value {
    json!({"do": operation, "app": KEY[0], "user": KEY[1], "id": KEY[2]})
}

/// An event with all kinds of data that are stored outside its own row.
fn event(id: &str, seconds: f64) -> Value {
    json!({
        "id": id,
        "invocation_id": "inv-interop",
        "author": "assistant",
        "timestamp": LATER + seconds,
        "content": {"role": "model", "parts": [{"text": "naïve ✓"}]},
        "actions": {"state_delta": {id: {"n": 1, "f": 1.5, "none": null}, "app:last": id, "user:last": id, "temp:t": 1}},
    })
}

fn adk_appends(adk: &mut Adk, event: Value) -> Value {
    let mut request = request("append");
    request["event"] = event;
    adk.ask(&request)
}

fn we_append(database: &Database, event: &Value) -> Value {
    answer(&["append", &database.url(), KEY[0], KEY[1], KEY[2], "-"], &event.to_string())
}

/// The session as pleach's program dumps it.
fn dumped(database: &Database) -> Value {
    let dump = answer(&["dump", &database.url()], "");
    let found = dump["get_session"].as_array().unwrap().iter().find(|entry| {
        let key = ["app", "user", "id"].map(|name| entry[name].as_str().unwrap());
        key == KEY
    });
    found.unwrap()["session"].clone()
}

fn event_ids(session: &Value) -> BTreeSet<String> {
    let events = session["events"].as_array().unwrap();
    events.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

pub(crate) async fn s131_c_both_append_to_one_session(layout: Layout) {
    let Some(database) = Database::loaded(layout).await else { return };
    let Some(mut adk) = Adk::open(&database) else { return };
    let before = adk.ask(&request("get"));
    same(&dumped(&database), &before, "");

    assert_eq!(adk_appends(&mut adk, event("theirs", 1.0)), "theirs");
    let after = adk.ask(&request("get"));
    same(&dumped(&database), &after, "");
    assert_eq!(after["state"]["app:last"], "theirs");

    assert_eq!(we_append(&database, &event("ours", 2.25))["id"], "ours");
    let after = adk.ask(&request("get"));
    same(&dumped(&database), &after, "");
    let last = ["ours", "app:last", "user:last"].map(|key| &after["state"][key]);
    assert_eq!(last, [&json!({"n": 1, "f": 1.5, "none": null}), &json!("ours"), &json!("ours")]);
    assert_eq!(after["state"].get("temp:t"), None);
    assert_eq!(after["lastUpdateTime"], json!(LATER + 2.25));

    // google-adk has just loaded its copy, so the copy is fresh.
    assert_eq!(adk_appends(&mut adk, event("theirs-2", 3.0)), "theirs-2");
    let after = dumped(&database);
    assert_eq!(after["events"].as_array().unwrap().len(), before["events"].as_array().unwrap().len() + 3);
    assert_eq!(after["state"]["user:last"], "theirs-2");
    same(&adk.ask(&request("get")), &after, "");
}

pub(crate) async fn s131_d_google_adk_finds_its_session_stale(layout: Layout) {
    let Some(database) = Database::loaded(layout).await else { return };
    let Some(mut adk) = Adk::open(&database) else { return };
    adk.ask(&request("get"));
    we_append(&database, &event("ours", 1.0));
    let mut append = request("append");
    append["event"] = event("theirs", 2.0);
    assert_eq!(adk.fails(&append), "StaleSessionError");
    let stored = dumped(&database);
    assert!(event_ids(&stored).contains("ours") && !event_ids(&stored).contains("theirs"));
    // Loading again is the remedy.
    same(&adk.ask(&request("get")), &stored, "");
    assert_eq!(adk.ask(&append), "theirs");
}

pub(crate) async fn s131_d_we_find_our_session_stale(layout: Layout) {
    let Some(database) = Database::loaded(layout).await else { return };
    let Some(mut adk) = Adk::open(&database) else { return };
    let service = connect(&database.url()).await.unwrap();
    let key = SessionKey::new(KEY[0], KEY[1], KEY[2]);
    let mut session = service.get_session(&key, GetSessionConfig::all()).await.unwrap().unwrap();
    adk.ask(&request("get"));
    adk_appends(&mut adk, event("theirs", 1.0));

    let ours: pleach::Event = serde_json::from_value(event("ours", 2.0)).unwrap();
    let loaded = session.clone();
    let refused = service.append_event(&mut session, ours.clone()).await.unwrap_err();
    assert!(matches!(refused, SessionError::Stale { .. }), "{refused}");
    assert_eq!(session, loaded);
    assert!(!event_ids(&adk.ask(&request("get"))).contains("ours"));

    let mut session = service.get_session(&key, GetSessionConfig::all()).await.unwrap().unwrap();
    service.append_event(&mut session, ours).await.unwrap();
    // The temporary key lives as long as this copy of the session (S14).
    assert!(session.state.remove("temp:t").is_some());
    same(&adk.ask(&request("get")), &pleach::to_camel(&session).unwrap(), "");
}

/// Starts several programs at once, each of which appends an event without id and time. Returns their outputs.
fn all_at_once(database: &Database, options: &[&str]) -> Vec<Output> {
    let url = database.url();
    let mut args = vec!["append", &url, KEY[0], KEY[1], KEY[2], "-"];
    args.extend(options);
    let event = json!({"author": "assistant", "invocation_id": "inv-interop", "message": "at once"}).to_string();
    let programs: Vec<_> = (0..WRITERS).map(|_| start(&args, &event)).collect();
    programs.into_iter().map(|program| program.wait_with_output().unwrap()).collect()
}

fn ids(outputs: &[Output]) -> BTreeSet<String> {
    let stored = outputs.iter().filter(|output| status(output) == 0);
    let answers = stored.map(|output| serde_json::from_slice::<Value>(&output.stdout).unwrap());
    answers.map(|answer| answer["id"].as_str().unwrap().to_owned()).collect()
}

pub(crate) async fn appends_at_the_same_time_are_stored_or_stale(layout: Layout) {
    let Some(database) = Database::loaded(layout).await else { return };
    let before = event_ids(&dumped(&database));
    let outputs = all_at_once(&database, &[]);
    for output in &outputs {
        assert!(matches!(status(output), 0 | 3), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(&event_ids(&dumped(&database)) - &before, ids(&outputs));
}

pub(crate) async fn appends_at_the_same_time_are_all_stored_with_retries(layout: Layout) {
    let Some(database) = Database::loaded(layout).await else { return };
    let before = event_ids(&dumped(&database));
    let outputs = all_at_once(&database, &["--retry", "100"]);
    let stored = ids(&outputs);
    assert_eq!(stored.len(), WRITERS, "{:?}", outputs.iter().map(status).collect::<Vec<_>>());
    assert_eq!(&event_ids(&dumped(&database)) - &before, stored);
}

/// A refused operation changes nothing, is listed and does not stop the others.
pub(crate) async fn refused_operations_are_listed_and_the_rest_is_played(layout: Layout) {
    let Some(database) = Database::loaded(layout).await else { return };
    let operations = json!([
        {"op": "create", "app": "shop", "user": "alice", "id": "s-chat", "state": {"app:theme": "lost"}},
        {"op": "append", "app": "shop", "user": "alice", "id": "none", "event": event("e1", 1.0)},
        {"op": "create", "app": "shop", "user": "carol", "id": "new"},
        {"op": "append", "app": "shop", "user": "carol", "id": "new", "event": event("e1", 1.0)},
        {"op": "append", "app": "shop", "user": "carol", "id": "new", "event": event("e1", 2.0)},
        {"op": "append", "app": "shop", "user": "carol", "id": "new", "event": event("e2", 3.0)},
    ]);
    let played = answer(&["load", "-", &database.url()], &operations.to_string());
    let errors = json!([
        {"op_index": 0, "op": "create", "key": ["shop", "alice", "s-chat"], "error": "AlreadyExistsError"},
        {"op_index": 1, "op": "append", "key": ["shop", "alice", "none"], "error": "SessionNotFoundError"},
        {"op_index": 4, "op": "append", "key": ["shop", "carol", "new"], "error": "EventAlreadyExistsError"},
    ]);
    assert_eq!(played, json!({"operations": 6, "errors": errors}));
    let whole = answer(&["dump", &database.url()], "");
    let of = |id: &str| whole["get_session"].as_array().unwrap().iter().rfind(|entry| entry["id"] == id).unwrap();
    assert_eq!(of("new")["session"]["events"].as_array().unwrap().len(), 2);
    assert_ne!(of("s-chat")["session"]["state"]["app:theme"], "lost");
}

pub(crate) async fn the_exit_status_shows_the_outcome(layout: Layout) {
    let Some(database) = Database::loaded(layout).await else { return };
    let (url, event) = (database.url(), event("ours", 1.0).to_string());
    for (args, input, expected) in [
        (&["append", &url, "shop", "alice", "s-chat", "-"][..], event.as_str(), 0),
        (&["append", &url, "shop", "alice", "s-nothing", "-"], &event, 4),
        (&["append", &url, "shop", "alice", "s-chat", "-"], "{", 1),
        (&["append", &url, "shop", "alice", "s-chat", "-"], r#"{"partial": true}"#, 1),
        (&["append", "mysql://h/d", "shop", "alice", "s-chat", "-"], &event, 1),
        (&["load", "-", &url], r#"[{"op": "delete", "app": "a", "user": "u", "id": "s"}]"#, 0),
        (&["load", "-", &url], r#"[{"op": "create", "app": "shop", "user": "alice", "id": "s-chat"}]"#, 0),
        (&["load", "-", &url], r#"[{"op": "create", "app": "a"}]"#, 1),
        (&["dump", "memory:"], "", 1),
        (&["dump", "sqlite:///no-such-folder/no-such-file"], "", 1),
        (&["append", &url], "", 2),
        (&[], "", 2),
    ] {
        let output = output(args, input);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(status(&output), expected, "{args:?}: {said}");
        assert_eq!(said.is_empty(), expected == 0, "{args:?}: {said}");
        assert_eq!(output.stdout.is_empty(), expected != 0, "{args:?}");
    }
}
