//! Every place of an event, the reference in it, and the values that stay.

use std::collections::BTreeSet;

use pleach_core::{
    Blob, CodeExecutionResult, Content, Event, ExecutableCode, FunctionCall, FunctionResponse, FunctionResponsePart,
    Map, Part, RequestInput, ToolCall, ToolResponse,
};
use pleach_session::{ListQuestions, SessionService as _, SessionServiceExt as _};
use serde_json::{Value, json};

use crate::support::{Kept, complete, event, long, object, references};

fn map(text: String) -> Map {
    Map::from_iter([("value".to_owned(), text.into())])
}

/// Returns a part of each kind, each with a value of about 1000 bytes.
fn parts() -> Vec<Part> {
    let mut media = Blob::default();
    (media.data, media.mime_type, media.display_name) =
        (Some(vec![0xff; 1000].into()), Some("image/png".into()), Some("a.png".into()));
    let mut response = FunctionResponse::new("c1", "draw", map(long(1000)));
    response.parts = Some(vec![FunctionResponsePart { inline_data: Some(media.clone()), ..Default::default() }]);
    let captioned = Part { inline_data: Some(Box::new(media.clone())), ..Part::text("caption") };
    let code = ExecutableCode { code: Some(long(1000)), language: Some("PYTHON".into()), ..Default::default() };
    let result =
        CodeExecutionResult { outcome: Some("OUTCOME_OK".into()), output: Some(long(1000)), ..Default::default() };
    let call = ToolCall { id: Some("t".into()), args: Some(map(long(1000))), ..Default::default() };
    let answer = ToolResponse { id: Some("t".into()), response: Some(map(long(1000))), ..Default::default() };
    vec![
        Part { thought: Some(true), ..Part::text(long(1000)) },
        Part { inline_data: Some(Box::new(media)), ..Part::default() },
        captioned,
        Part { executable_code: Some(Box::new(code)), ..Part::default() },
        Part { code_execution_result: Some(Box::new(result)), ..Part::default() },
        Part::function_call(FunctionCall::new("c1", "draw", map(long(1000)))),
        Part::function_response(response),
        Part { tool_call: Some(Box::new(call)), ..Part::default() },
        Part { tool_response: Some(Box::new(answer)), ..Part::default() },
        Part::text("small"),
    ]
}

#[tokio::test]
async fn every_value_comes_back_and_leaves_a_reference() {
    let kept = Kept::above(100);
    let mut session = kept.session().await;
    let whole =
        Event::from_author("agent").with_content(Content::new("model", parts())).with_output(json!([long(1000)]));
    let whole = complete("e1", whole.with_custom_metadata(Map::from_iter([("mine".to_owned(), json!(1))])));
    let stored = kept.sessions.append_event(&mut session, whole.clone()).await.unwrap();
    assert_eq!(*stored, whole);
    assert_eq!(*session.events[0], whole);
    assert_eq!(*kept.loaded().await.events[0], whole);

    let row = kept.rows().await.remove(0);
    let text = row.to_string();
    assert!(!text.contains(&long(101)) && !text.contains("________________"), "{text}");
    let found = references(&row);
    let places: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
    let expected = [
        "output",
        "content.parts[0].text",
        "content.parts[1].inline_data",
        "content.parts[2].inline_data",
        "content.parts[3].executable_code.code",
        "content.parts[4].code_execution_result.output",
        "content.parts[5].function_call.args",
        "content.parts[6].function_response.response",
        "content.parts[6].function_response.parts",
        "content.parts[7].tool_call.args",
        "content.parts[8].tool_response.response",
    ];
    assert_eq!(places, expected);
    assert_eq!(row["custom_metadata"]["mine"], 1);
    let name = |number: usize| found[number].1.as_str();
    let words = |number: usize, bytes: usize| format!("[payload {}, {bytes} bytes]", name(number));
    let part = |number: usize| &row["content"]["parts"][number];
    assert_eq!(row["output"], object(name(0), 1004));
    assert_eq!(*part(0), json!({"text": words(1, 1000), "thought": true}));
    assert_eq!(*part(1), json!({"text": words(2, 1000)}));
    assert_eq!(*part(2), json!({"text": "caption"}));
    assert_eq!(*part(3), json!({"executable_code": {"code": words(4, 1000), "language": "PYTHON"}}));
    assert_eq!(*part(4), json!({"code_execution_result": {"outcome": "OUTCOME_OK", "output": words(5, 1000)}}));
    assert_eq!(*part(5), json!({"function_call": {"id": "c1", "name": "draw", "args": object(name(6), 1012)}}));
    assert_eq!(*part(6), json!({"function_response": {"id": "c1", "name": "draw", "response": object(name(7), 1012)}}));
    assert_eq!(*part(7), json!({"tool_call": {"id": "t", "args": object(name(9), 1012)}}));
    assert_eq!(*part(8), json!({"tool_response": {"id": "t", "response": object(name(10), 1012)}}));
    assert_eq!(*part(9), json!({"text": "small"}));
    let names: BTreeSet<String> = found.into_iter().map(|(_, name)| name).collect();
    assert_eq!(kept.artifacts.names().await, Vec::from_iter(names));
}

/// Only values above the threshold are taken out.
#[tokio::test]
async fn a_value_as_large_as_the_threshold_stays_and_a_larger_one_goes() {
    let media = |bytes: usize| Part::bytes("image/png", vec![1; bytes]);
    let message = |part: Part| Event::from_author("agent").with_content(Content::new("model", [part]));
    let call = |bytes: usize| Part::function_call(FunctionCall::new("c", "f", map(long(bytes - 12))));
    for (bytes, expected) in [(100, 0), (101, 1)] {
        let kept = Kept::above(100);
        let mut session = kept.session().await;
        let events = [
            event("e0", long(bytes - 2)),
            message(Part::text(long(bytes))),
            message(media(bytes)),
            message(call(bytes)),
            // The letter has two bytes.
            message(Part::text("ü".repeat(bytes.div_ceil(2)))),
        ];
        for (number, event) in events.into_iter().enumerate() {
            let event = complete(&format!("e{number}"), event);
            kept.sessions.append_event(&mut session, event).await.unwrap();
        }
        for row in kept.rows().await {
            assert_eq!(references(&row).len(), expected, "{bytes}: {row}");
            assert_eq!(row.get("custom_metadata").is_some(), expected == 1, "{row}");
        }
        assert_eq!(kept.loaded().await.events, session.events);
    }
}

#[tokio::test]
async fn questions_and_answers_stay_in_the_event() {
    let kept = Kept::above(0);
    let mut session = kept.session().await;
    let mut ask: RequestInput = RequestInput::ask("q", long(1000)).with_schema(json!({"type": "array"}));
    ask = ask.assign_to("lead");
    let mut asks = complete("e1", ask.into_event("q").with_node_path("wf@1/ask@1"));
    asks.set_author("wf");
    kept.sessions.append_event(&mut session, asks.clone()).await.unwrap();
    let ships = Part::function_call(FunctionCall::new("l", "ship", map(long(1000))));
    let ships = Event::from_author("agent").with_content(Content::new("model", [ships])).with_long_running(["l"]);
    kept.sessions.append_event(&mut session, complete("e2", ships)).await.unwrap();

    for service in [&*kept.inner, &kept.sessions] {
        let open = service.list_questions(ListQuestions::new("app")).await.unwrap().items;
        let ids: Vec<&str> = open.iter().map(|item| item.question.id.as_str()).collect();
        assert_eq!(ids, ["q", "l"]);
        assert_eq!((&open[0].question.message, open[0].question.assignee.as_deref()), (&long(1000), Some("lead")));
        assert_eq!(open[1].question.payload, Some(Value::Object(map(long(1000)))));
    }
    let answer = |answer: Value| {
        let response = FunctionResponse::new("q", "adk_request_input", Map::from_iter([("result".to_owned(), answer)]));
        Event::from_author("user").with_content(Content::new("user", [Part::function_response(response)]))
    };
    kept.sessions.append_event(&mut session, complete("e3", answer(json!(long(1000))))).await.unwrap();
    assert_eq!(kept.inner.list_questions(ListQuestions::new("app")).await.unwrap().items.len(), 2, "it does not fit");
    kept.sessions.append_event(&mut session, complete("e4", answer(json!([long(1000)])))).await.unwrap();
    let open = kept.inner.list_questions(ListQuestions::new("app")).await.unwrap().items;
    assert_eq!(open.len(), 1);
    assert_eq!(kept.loaded().await.events, session.events);
}
