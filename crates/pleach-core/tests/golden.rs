//! Every event that google-adk stored in the golden databases survives a round trip, in both casings.
//!
//! `fixtures/golden_events.json` holds the `event_data` documents of the golden session databases, which were
//! extracted once with Python's sqlite3. Next to each document is the event that google-adk returned for it.
// S41–S45, R101–R103

use pleach_core::{Event, check_event, to_camel, to_storable_json};
use serde_json::Value;

fn golden() -> Vec<Value> {
    let fixture: Value = serde_json::from_str(include_str!("fixtures/golden_events.json"))
        .expect("the fixture is an object with events");
    let events = fixture["events"].as_array().expect("the fixture is an object with events").clone();
    assert_eq!(events.len(), 35, "the fixture lost events");
    events
}

fn read(document: &Value) -> Event {
    serde_json::from_str(&document.to_string()).unwrap_or_else(|error| panic!("{error}: {document}"))
}

#[test]
fn stored_form_round_trips() {
    for golden in golden() {
        let document = &golden["event_data"];
        assert_eq!(serde_json::to_value(read(document)).unwrap(), *document);
    }
}

#[test]
fn text_and_value_read_alike() {
    for golden in golden() {
        let document = &golden["event_data"];
        let from_value: Event = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(from_value, read(document));
    }
}

#[test]
fn http_form_is_google_adks() {
    let mut compared = 0;
    for golden in golden() {
        if golden["camel"].is_null() {
            continue;
        }
        let event = read(&golden["event_data"]);
        assert_eq!(to_camel(&event).unwrap(), golden["camel"], "{}", golden["session"]);
        compared += 1;
    }
    assert_eq!(compared, 35);
}

#[test]
fn http_form_reads_back() {
    for golden in golden() {
        if golden["camel"].is_null() {
            continue;
        }
        assert_eq!(read(&golden["camel"]), read(&golden["event_data"]));
    }
}

#[test]
fn fields_are_written_in_google_adks_order() {
    const ORDER: &[&str] = &[
        "model_version",
        "content",
        "grounding_metadata",
        "partial",
        "turn_complete",
        "turn_complete_reason",
        "interaction_status",
        "finish_reason",
        "error_code",
        "error_message",
        "interrupted",
        "custom_metadata",
        "usage_metadata",
        "live_session_resumption_update",
        "live_session_id",
        "go_away",
        "voice_activity",
        "input_transcription",
        "output_transcription",
        "avg_logprobs",
        "logprobs_result",
        "cache_metadata",
        "citation_metadata",
        "interaction_id",
        "environment_id",
        "invocation_id",
        "author",
        "actions",
        "output",
        "node_info",
        "long_running_tool_ids",
        "branch",
        "isolation_scope",
        "id",
        "timestamp",
    ];
    for golden in golden() {
        let text = serde_json::to_string(&read(&golden["event_data"])).unwrap();
        let keys = top_level_keys(&text);
        let expected: Vec<&str> = ORDER.iter().copied().filter(|name| keys.iter().any(|key| key == name)).collect();
        assert_eq!(keys, expected);
    }
}

/// Finds the keys of the outermost object in the order of the text.
fn top_level_keys(text: &str) -> Vec<String> {
    let (mut depth, mut in_string, mut escaped, mut start) = (0, false, false, 0);
    let mut keys = Vec::new();
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => {
                in_string = !in_string;
                if in_string {
                    start = at + 1;
                } else if depth == 1 && text[at + 1..].starts_with(':') {
                    keys.push(text[start..at].to_owned());
                }
            }
            '{' | '[' if !in_string => depth += 1,
            '}' | ']' if !in_string => depth -= 1,
            _ => {}
        }
    }
    keys
}

#[test]
fn every_golden_event_can_be_stored() {
    for golden in golden() {
        let event = read(&golden["event_data"]);
        check_event(&event).unwrap();
        let text = to_storable_json("event", &event).unwrap();
        assert_eq!(text, serde_json::to_string(&event).unwrap());
    }
}

/// The events of recorded HTTP responses, read and written again in camelCase.
#[test]
fn recorded_http_events_round_trip() {
    let fixture: Value = serde_json::from_str(include_str!("fixtures/golden_http_events.json")).unwrap();
    let events = fixture["events"].as_array().unwrap();
    assert_eq!(events.len(), 31, "the fixture lost events");
    for recorded in events {
        let event = read(&recorded["event"]);
        assert_eq!(to_camel(&event).unwrap(), recorded["event"], "{}", recorded["recording"]);
        assert_eq!(read(&serde_json::to_value(&event).unwrap()), event);
    }
}
