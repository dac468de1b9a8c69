//! Compares databases of the scenario with the recorded values that google-adk reads from them. The order of keys does
//! not matter.
// S130

use serde_json::{Map, Value};

use crate::adk::Adk;

/// The arrays of `interop dump`.
const DUMPED: [&str; 3] = ["get_session", "list_sessions", "user_state"];

pub(crate) fn expected() -> Value {
    serde_json::from_str(include_str!("../../crates/pleach-contract/src/own_tests/golden/expected.json")).unwrap()
}

fn entries(name: &str) -> Vec<Value> {
    expected()["same_in_all_files"][name].as_array().unwrap().clone()
}

/// Panics if two values differ. The text names only the first difference, because whole sessions are too large to read.
#[track_caller]
pub(crate) fn same(found: &Value, wanted: &Value, what: &str) {
    if let Some(difference) = difference(found, wanted) {
        panic!("{what}{difference}");
    }
}

fn difference(found: &Value, wanted: &Value) -> Option<String> {
    let inside = |key: &dyn std::fmt::Display, difference| format!("/{key}{difference}");
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) if found.keys().eq(wanted.keys()) => found
            .iter()
            .find_map(|(key, value)| difference(value, &wanted[key]).map(|difference| inside(key, difference))),
        (Value::Array(found), Value::Array(wanted)) if found.len() == wanted.len() => {
            let mut pairs = found.iter().zip(wanted).enumerate();
            pairs.find_map(|(index, (found, wanted))| difference(found, wanted).map(|found| inside(&index, found)))
        }
        _ if found == wanted => None,
        _ => Some(format!(": found {found}, wanted {wanted}")),
    }
}

pub(crate) fn compare_dump(dump: &Value) {
    assert_eq!(dump.as_object().unwrap().len(), DUMPED.len());
    for name in DUMPED {
        let mut wanted = entries(name);
        // The recording also has a deleted session, which was requested by name. The database does not show that it
        // existed.
        wanted.retain(|entry| entry.get("session").is_none_or(|session| !session.is_null()));
        same(&dump[name], &wanted.into(), name);
    }
}

/// Asks google-adk for every entry that [`compare_dump`] compares, and for the deleted session.
pub(crate) fn compare_adk(adk: &mut Adk) {
    for (name, operation, answer) in [
        ("get_session", "get", "session"),
        ("list_sessions", "list", "sessions"),
        ("user_state", "user_state", "state"),
    ] {
        for mut entry in entries(name) {
            let wanted = entry[answer].take();
            entry.as_object_mut().unwrap().remove(answer);
            entry["do"] = operation.into();
            same(&adk.ask(&entry), &wanted, &format!("{entry}: "));
        }
    }
}

/// Asks google-adk for sessions with some of their events and compares them with the recording `file`.
pub(crate) fn compare_filtered(adk: &mut Adk, file: &str) {
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
