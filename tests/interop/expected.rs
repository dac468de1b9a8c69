//! What google-adk reads from the databases of the scenario, as it was recorded.

use serde_json::{Map, Value};

use crate::adk::Adk;

/// The arrays of `interop dump`.
const DUMPED: [&str; 3] = ["get_session", "list_sessions", "user_state"];

pub(crate) fn expected() -> Value {
    serde_json::from_str(include_str!("../../crates/pleach-session-sqlite/tests/golden/expected.json")).unwrap()
}

fn entries(name: &str) -> Vec<Value> {
    expected()["same_in_all_files"][name].as_array().unwrap().clone()
}

/// Compares entry by entry, so that a difference can be found with the naked eye.
pub(crate) fn compare_dump(dump: &Value) {
    assert_eq!(dump.as_object().unwrap().len(), DUMPED.len());
    for name in DUMPED {
        let mut wanted = entries(name);
        // A deleted session was asked for by name; nothing in the database tells that it was there.
        wanted.retain(|entry| entry.get("session").is_none_or(|session| !session.is_null()));
        let found = dump[name].as_array().unwrap();
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found, wanted, "{name}");
        }
        assert_eq!(found.len(), wanted.len(), "{name}");
    }
}

/// Asks google-adk for every entry. `file` is the recorded one whose entries count where the files differ.
pub(crate) fn compare_adk(adk: &mut Adk, file: &str) {
    for (name, operation, answer) in [
        ("get_session", "get", "session"),
        ("list_sessions", "list", "sessions"),
        ("user_state", "user_state", "state"),
    ] {
        for mut entry in entries(name) {
            let wanted = entry[answer].take();
            entry.as_object_mut().unwrap().remove(answer);
            entry["do"] = operation.into();
            assert_eq!(adk.ask(&entry), wanted, "{entry}");
        }
    }
    let differing = expected()["differs"]["filtered"].take();
    let differing = differing.as_array().unwrap().iter().map(|by_file| by_file[file].clone());
    for entry in entries("filtered").into_iter().chain(differing) {
        let wanted = ["app", "user", "id", "config"].map(|name| (name.to_owned(), entry[name].clone()));
        let mut request = Value::Object(Map::from_iter(wanted));
        request["do"] = "get".into();
        let session = adk.ask(&request);
        let ids: Vec<&Value> = session["events"].as_array().unwrap().iter().map(|event| &event["id"]).collect();
        assert_eq!(serde_json::json!(ids), entry["event_ids"], "{request}");
    }
}
