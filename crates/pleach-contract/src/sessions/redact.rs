//! Redactions, which remove values from a stored event and leave the rest of the log unchanged.

use futures_util::future::join_all;
use pleach_core::{
    Blob, Content, Event, FunctionCall, FunctionResponse, NodePath, Part, RequestInput, SessionKey, StateOp,
};
use pleach_session::{
    GetSessionConfig, REDACTED, Redaction, RedactionFault, SessionError, SessionResult, SessionService,
    SessionServiceExt as _, Since, open_questions,
};
use serde_json::{Value, json};

use super::{CREATED, created, event, ids, key, loaded, object};

/// The time of the redactions in these rules.
const AT: f64 = CREATED + 50.0;

async fn redact(service: &dyn SessionService, key: &SessionKey, event: &str, paths: &[&str]) -> SessionResult<Value> {
    let redaction = Redaction::new(paths.iter().copied(), "a customer's request").with_time(AT);
    let redacted = service.redact(key, &event.into(), &redaction).await?;
    Ok(serde_json::to_value(&*redacted).unwrap())
}

async fn fault(service: &dyn SessionService, event: &str, path: &str) -> RedactionFault {
    let error = redact(service, &key("s"), event, &[path]).await.unwrap_err();
    let SessionError::Redaction(error) = error else { panic!("{path}: {error}") };
    assert_eq!((&error.key, error.event.to_string(), &*error.path), (&key("s"), event.to_owned(), path));
    error.fault
}

/// A message with a call, its response and media, as an agent writes them.
fn full(id: &str, after: f64) -> Event {
    let blob = Blob { data: Some(vec![1, 2, 3].into()), mime_type: Some("image/png".into()), ..Blob::default() };
    let parts = [
        Part::text("my card is 4111"),
        Part { inline_data: Some(Box::new(blob)), ..Part::default() },
        Part::function_call(FunctionCall::new("c1", "pay", object(json!({"card": "4111", "sum": {"of": [1, 2]}})))),
        Part::function_response(FunctionResponse::new("c1", "pay", object(json!({"receipt": "4111"})))),
    ];
    let mut event = event(id, after).with_content(Content::new("model", parts)).with_state("card", "4111");
    event.set_output(Some(json!({"card": {"number": "4111"}, "ok": true})));
    event.set_error_message(Some("no card 4111".to_owned()));
    event.set_custom_metadata(Some(object(json!({"note": "4111"}))));
    event
}

/// Values are replaced in place. The state, the order and everything else stay. The note has the paths and the reason.
pub async fn a_redaction_replaces_values_and_nothing_else(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    for event in [event("e1", 1.0), full("e2", 2.0), event("e3", 3.0).with_state("n", 1)] {
        service.append_event(&mut session, event).await.unwrap();
    }
    let before = loaded(service, &key("s")).await;
    let paths = [
        "/output/card/number",
        "/content/parts/0/text",
        "/content/parts/1/inline_data",
        "/content/parts/2/function_call/args/sum/of/1",
        "/content/parts/3/function_response/response",
        "/actions/state_delta/card",
        "/error_message",
        "/custom_metadata/note",
    ];
    let redacted = redact(service, &key("s"), "e2", &paths).await.unwrap();
    let mut expected = serde_json::to_value(&*before.events[1]).unwrap();
    expected["output"]["card"]["number"] = json!(REDACTED);
    expected["content"]["parts"][0]["text"] = json!(REDACTED);
    expected["content"]["parts"][1] = json!({"text": REDACTED});
    expected["content"]["parts"][2]["function_call"]["args"]["sum"]["of"][1] = json!(REDACTED);
    expected["content"]["parts"][3]["function_response"]["response"] = json!({"result": REDACTED});
    expected["actions"]["state_delta"]["card"] = json!(REDACTED);
    expected["error_message"] = json!(REDACTED);
    expected["custom_metadata"] = json!({
        "note": REDACTED,
        "pleach_redactions": [{"paths": paths, "reason": "a customer's request", "at": AT, "state": ["card"]}],
    });
    assert_eq!(redacted, expected);
    let after = loaded(service, &key("s")).await;
    assert_eq!(serde_json::to_value(&*after.events[1]).unwrap(), expected);
    assert_eq!((&after.events[0], &after.events[2]), (&before.events[0], &before.events[2]));
    assert_eq!(after.state, before.state);

    // Redacting a value again changes nothing; other values are redacted.
    assert_eq!(redact(service, &key("s"), "e2", &paths[..2]).await.unwrap(), expected);
    let whole = redact(service, &key("s"), "e2", &["/content", "/output"]).await.unwrap();
    assert_eq!(whole["output"], json!(REDACTED));
    assert_eq!(whole["content"]["parts"][2]["function_call"], json!({"id": "c1", "name": "pay", "args": {}}));
    assert_eq!(whole["custom_metadata"]["pleach_redactions"].as_array().unwrap().len(), 2);
    assert_eq!(redact(service, &key("s"), "e2", &paths).await.unwrap(), whole, "some of the values no longer exist");
    assert!(!whole.to_string().contains("4111"), "{whole}");
    let after = loaded(service, &key("s")).await;
    assert_eq!((ids(&after), serde_json::to_value(&*after.events[1]).unwrap()), (ids(&before), whole));
}

/// Earlier heads are stale, and readers that reload see the new value. Appends continue after the redaction.
pub async fn a_redaction_moves_the_revision_on(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    for number in 0..4 {
        service.append_event(&mut session, event(&format!("e{number}"), f64::from(number / 2))).await.unwrap();
    }
    let before = session.clone();
    redact(service, &key("s"), "e1", &["/content"]).await.unwrap();
    session = loaded(service, &key("s")).await;
    assert!(session.revision() > before.revision());
    assert_eq!(session.last_update_time(), AT);
    let since = service.events_since(&session.head).await.unwrap().unwrap();
    assert!(matches!(&since, Since::Events(none) if none.events.is_empty()), "there are no new events: {since:?}");
    let mut late = before.clone();
    assert!(service.claim(&mut late.head, AT).await.unwrap_err().is_stale());
    assert!(service.append_event(&mut late, event("e4", 60.0)).await.unwrap_err().is_stale());
    assert!(service.redact_event(&mut late.head, before.events[0].clone(), AT).await.unwrap_err().is_stale());
    for number in 4..6 {
        service.append_event(&mut session, event(&format!("e{number}"), 51.0)).await.unwrap();
        assert_eq!(loaded(service, &key("s")).await, session);
    }
    service.refresh(&mut late).await.unwrap();
    assert_eq!((ids(&late), &late.head), (ids(&session), &session.head));
    redact(service, &key("s"), "e5", &["/content"]).await.unwrap();
    service.refresh(&mut session).await.unwrap();
    assert_eq!(ids(&session), ["e0", "e1", "e2", "e3", "e4", "e5"]);
    service.append_event(&mut session, event("e6", 61.0)).await.unwrap();
    assert_eq!(ids(&loaded(service, &key("s")).await).len(), 7);
}

/// A reader with any earlier head gets every event once, whichever event was redacted.
pub async fn readers_see_through_redactions(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    let mut readers = vec![session.clone()];
    for number in 0..4 {
        service.append_event(&mut session, event(&format!("e{number}"), f64::from(4 - number))).await.unwrap();
        readers.push(session.clone());
        let redacted = format!("e{}", number / 2);
        redact(service, &key("s"), &redacted, &["/content/parts/0/text"]).await.unwrap();
        session = loaded(service, &key("s")).await;
        readers.push(session.clone());
    }
    for mut reader in readers {
        service.refresh(&mut reader).await.unwrap();
        let mut seen = ids(&reader);
        seen.sort();
        assert_eq!(seen, ["e0", "e1", "e2", "e3"]);
        assert_eq!(reader.head, session.head);
    }
}

/// A redaction of values that the engine reads is refused and changes nothing. The error names the session, the event
/// and the path.
pub async fn a_redaction_of_what_the_engine_reads_is_refused(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    service.append_event(&mut session, full("e1", 1.0)).await.unwrap();
    let before = loaded(service, &key("s")).await;
    for (path, expected) in [
        ("/id", RedactionFault::Fixed),
        ("/timestamp", RedactionFault::Fixed),
        ("/author", RedactionFault::Fixed),
        ("/content/role", RedactionFault::Fixed),
        ("/content/parts/2/function_call/name", RedactionFault::Fixed),
        ("/content/parts/2/function_call/id", RedactionFault::Fixed),
        ("/actions", RedactionFault::Fixed),
        ("/actions/route", RedactionFault::Absent),
        ("/contents", RedactionFault::Absent),
        ("/custom_metadata/pleach_redactions", RedactionFault::Absent),
        ("/output/none", RedactionFault::Absent),
        ("/output/card/number/0", RedactionFault::Absent),
        ("/content/parts/4/text", RedactionFault::Absent),
        ("/content/parts/00/text", RedactionFault::Absent),
        ("/content/parts/1/text", RedactionFault::Absent),
        ("output", RedactionFault::NoPointer),
        ("", RedactionFault::NoPointer),
        ("/output/~", RedactionFault::NoPointer),
    ] {
        assert_eq!(fault(service, "e1", path).await, expected, "{path}");
    }
    assert_eq!(fault(service, "e9", "").await, RedactionFault::UnknownEvent);
    let error = redact(service, &key("s"), "e1", &[]).await.unwrap_err();
    assert!(error.to_string().contains("no path is given"), "{error}");
    let error = redact(service, &key("other"), "e1", &["/output"]).await.unwrap_err();
    assert!(matches!(&error, SessionError::NotFound(missing) if *missing == key("other")), "{error}");
    let nul = service.redact(&key("s"), &"e1".into(), &Redaction::new(["/output"], "a\0b")).await.unwrap_err();
    assert!(matches!(&nul, SessionError::Unstorable { field, .. } if field.contains("reason")), "{nul}");

    // A valid path next to a refused one is not redacted either.
    redact(service, &key("s"), "e1", &["/output", "/id"]).await.unwrap_err();
    assert_eq!(loaded(service, &key("s")).await, before);
}

/// The service itself compares the events, so a caller cannot rewrite history.
pub async fn a_replaced_event_differs_in_values_only(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    service.append_event(&mut session, full("e1", 1.0)).await.unwrap();
    let before = loaded(service, &key("s")).await;
    let changed = |change: fn(&mut Event)| {
        let mut event = Event::clone(&before.events[0]);
        change(&mut event);
        std::sync::Arc::new(event)
    };
    for event in [
        changed(|event| event.set_author("other")),
        changed(|event| event.set_timestamp(CREATED + 2.0)),
        changed(|event| event.set_path(NodePath::from("wf@1/other@1"))),
        changed(|event| event.set_output(None)),
        changed(|event| drop(event.content_mut().unwrap().parts.as_mut().unwrap().pop())),
        changed(|event| drop(event.actions_mut().state_delta_mut().insert("more".to_owned(), json!(1)))),
        changed(|event| event.set_id("e2")),
        // A value that no redaction produces, a redacted value without a record, and a list of records that is empty.
        changed(|event| event.set_output(Some(json!("no card")))),
        changed(|event| event.set_output(Some(json!(REDACTED)))),
        changed(|event| event.set_custom_metadata(Some(object(json!({"note": "4111", "pleach_redactions": []}))))),
    ] {
        let error = service.redact_event(&mut session.head, event, AT).await.unwrap_err();
        assert!(matches!(error, SessionError::Redaction(_)), "{error}");
    }
    assert_eq!(session.head, before.head);
    assert_eq!(loaded(service, &key("s")).await, before);
    let redacted = changed(|event| {
        event.set_output(Some(json!(REDACTED)));
        let record = json!({"paths": ["/output"], "reason": "r", "at": AT});
        event.set_custom_metadata(Some(object(json!({"note": "4111", "pleach_redactions": [record]}))));
    });
    service.redact_event(&mut session.head, redacted, AT).await.unwrap();
    assert_eq!(loaded(service, &key("s")).await.head, session.head);
}

/// The text of a question may be redacted. Its schema may not, nor may an answer whose redaction would reopen the
/// question.
pub async fn a_redaction_leaves_the_same_questions_open(service: &dyn SessionService) {
    let asked = |id: &str| {
        let schema = json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
        let ask: RequestInput = RequestInput::ask(id, "Pay 4111?").with_payload(json!({"card": "4111"}));
        ask.with_schema(schema).assign_to("lead").into_event(id).with_node_path(format!("wf@1/{id}@1").as_str())
    };
    let mut session = created(service, &key("s"), json!({})).await;
    for (after, id) in [(0.0, "open"), (1.0, "closed")] {
        let mut event = asked(id);
        event.set_id(id);
        event.set_author("wf");
        event.set_invocation_id("inv-1");
        event.set_timestamp(CREATED + after);
        service.append_event(&mut session, event).await.unwrap();
    }
    let answer = object(json!({"sum": 12, "note": "card 4111"}));
    let answer = Part::function_response(FunctionResponse::new("closed", "adk_request_input", answer));
    let mut answer = Event::from_author("user").with_content(Content::new("user", [answer]));
    answer.set_id("answer");
    answer.set_invocation_id("inv-1");
    answer.set_timestamp(CREATED + 3.0);
    service.append_event(&mut session, answer).await.unwrap();

    let open = || async {
        let request = pleach_session::ListQuestions::new("app");
        let listed = service.list_questions(request).await.unwrap().items;
        let loaded = open_questions(&loaded(service, &key("s")).await.events);
        assert_eq!(listed.into_iter().map(|item| item.question).collect::<Vec<_>>(), loaded);
        loaded
    };
    let before = open().await;
    assert_eq!(before.len(), 1);
    redact(service, &key("s"), "open", &["/content"]).await.unwrap();
    redact(service, &key("s"), "closed", &["/content/parts/0/function_call/args/message"]).await.unwrap();
    let response = "/content/parts/0/function_response/response";
    redact(service, &key("s"), "answer", &[&format!("{response}/note")]).await.unwrap();
    let after = open().await;
    assert_eq!((&*after[0].message, &after[0].payload), (REDACTED, &Some(json!(REDACTED))));
    assert_eq!((&after[0].id, &after[0].response_schema), (&before[0].id, &before[0].response_schema));
    for (event, path, expected) in [
        ("open", "/content/parts/0/function_call/args/response_schema", RedactionFault::Fixed),
        ("open", "/content/parts/0/function_call/args/assignee", RedactionFault::Fixed),
        ("answer", &format!("{response}/sum"), RedactionFault::ChangesQuestions),
        ("answer", response, RedactionFault::ChangesQuestions),
        ("answer", "/content", RedactionFault::ChangesQuestions),
    ] {
        assert_eq!(fault(service, event, path).await, expected, "{path}");
    }
    assert_eq!(open().await, after);
}

/// Appends parts with their authors, as the engine stores them in one invocation.
async fn append_parts(service: &dyn SessionService, parts: impl IntoIterator<Item = (&str, Part)>) {
    let mut session = created(service, &key("s"), json!({})).await;
    for (number, (author, part)) in parts.into_iter().enumerate() {
        let role = if author == "user" { "user" } else { "model" };
        let asked = part.function_call.as_ref().filter(|call| call.name.as_deref() != Some("pay"));
        let ids: Vec<_> = asked.and_then(|call| call.id.clone()).into_iter().collect();
        let mut event = Event::from_author(author).with_content(Content::new(role, [part])).with_long_running(ids);
        event.set_id(format!("e{number}"));
        event.set_invocation_id("inv-1");
        event.set_timestamp(CREATED + number as f64);
        service.append_event(&mut session, event).await.unwrap();
    }
}

fn call(id: &str, name: &str, args: Value) -> (&'static str, Part) {
    ("agent", Part::function_call(FunctionCall::new(id, name, object(args))))
}

fn response(author: &'static str, id: &str, name: &str, response: Value) -> (&'static str, Part) {
    (author, Part::function_response(FunctionResponse::new(id, name, object(response))))
}

fn asks(id: &str, of: &str) -> (&'static str, Part) {
    let args = json!({
        "originalFunctionCall": {"id": of, "name": "pay", "args": {"card": "4111"}},
        "toolConfirmation": {"hint": "Pay with 4111?", "confirmed": false},
    });
    call(id, "adk_request_confirmation", args)
}

const ARGS: &str = "/content/parts/0/function_call/args";
const RESPONSE: &str = "/content/parts/0/function_response/response";

/// The tool is called with the arguments of the model's call, if the answer permits it.
pub async fn a_redaction_leaves_permissions_as_they_are(service: &dyn SessionService) {
    let answer = json!({"confirmed": true, "hint": "4111"});
    let parts = [
        call("c1", "pay", json!({"card": "4111"})),
        asks("q1", "c1"),
        call("c2", "pay", json!({"card": "4111"})),
        asks("q2", "c2"),
        response("user", "q2", "adk_request_confirmation", answer),
        response("agent", "c2", "pay", json!({"paid": "4111"})),
    ];
    append_parts(service, parts).await;
    for (event, path, expected) in [
        ("e0", "/content".to_owned(), RedactionFault::StillRead),
        ("e0", format!("{ARGS}/card"), RedactionFault::StillRead),
        ("e1", format!("{ARGS}/originalFunctionCall/args"), RedactionFault::StillRead),
        ("e4", RESPONSE.to_owned(), RedactionFault::ChangesQuestions),
        ("e4", format!("{RESPONSE}/confirmed"), RedactionFault::ChangesQuestions),
    ] {
        assert_eq!(fault(service, event, &path).await, expected, "{event} {path}");
    }
    for (event, path) in [
        ("e1", format!("{ARGS}/toolConfirmation/hint")),
        ("e2", ARGS.to_owned()),
        ("e3", format!("{ARGS}/originalFunctionCall/args/card")),
        ("e4", format!("{RESPONSE}/hint")),
        ("e5", RESPONSE.to_owned()),
    ] {
        redact(service, &key("s"), event, &[&path]).await.unwrap();
    }
}

/// The arguments of a call stay until it has a response or its invocation is aborted.
pub async fn a_redaction_leaves_what_is_still_to_be_called(service: &dyn SessionService) {
    let credential = json!({"functionCallId": "c3", "authConfig": {}});
    let parts = [
        call("c1", "pay", json!({"card": "4111"})),
        response("agent", "c1", "pay", json!({"paid": "4111"})),
        call("c2", "pay", json!({"card": "4111"})),
        call("c3", "pay", json!({"card": "4111"})),
        // google-adk stores a response for a call that asks a question.
        response("agent", "c3", "pay", json!({"error": "asks"})),
        call("q3", "adk_request_credential", credential),
        call("c4", "pay", json!({"card": "4111"})),
        asks("q4", "c4"),
        // There is an answer, but the tool has not been called yet.
        response("user", "q4", "adk_request_confirmation", json!({"confirmed": true})),
    ];
    append_parts(service, parts).await;
    for event in ["e2", "e3", "e6"] {
        assert_eq!(fault(service, event, ARGS).await, RedactionFault::StillRead, "{event}");
    }
    redact(service, &key("s"), "e0", &[ARGS]).await.unwrap();
    let mut session = loaded(service, &key("s")).await;
    let mut aborted = event("end", 60.0).with_error("INVOCATION_ABORTED", "aborted");
    aborted.set_content(None);
    aborted.set_author("agent");
    aborted.set_invocation_id("inv-1");
    service.append_event(&mut session, aborted).await.unwrap();
    for event in ["e2", "e3", "e6"] {
        redact(service, &key("s"), event, &[ARGS]).await.unwrap();
    }
    assert!(!serde_json::to_string(&loaded(service, &key("s")).await.events[2]).unwrap().contains("4111"));
}

/// A newer answer replaces the previous one if it fits the schema.
pub async fn a_redaction_leaves_the_effective_answer(service: &dyn SessionService) {
    let schema = json!({"type": "object", "properties": {"pay": {"type": "boolean"}}, "required": ["pay"]});
    let args = json!({"message": "Pay?", "response_schema": schema});
    let answer = |pay: bool| response("user", "q", "adk_request_input", json!({"pay": pay, "note": "4111"}));
    append_parts(service, [call("q", "adk_request_input", args), answer(true), answer(false)]).await;
    for event in ["e1", "e2"] {
        for path in ["/content", RESPONSE, &format!("{RESPONSE}/pay")] {
            assert_eq!(fault(service, event, path).await, RedactionFault::ChangesQuestions, "{event} {path}");
        }
        redact(service, &key("s"), event, &[&format!("{RESPONSE}/note")]).await.unwrap();
    }
}

/// No redaction is lost, because each one is applied to the result of the previous one.
pub async fn concurrent_redactions_are_all_applied(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    let fields: Vec<_> = (0..6).map(|number| format!("f{number}")).collect();
    let output: pleach_core::Map = fields.iter().map(|field| (field.clone(), json!("4111"))).collect();
    let mut stored = event("e1", 1.0);
    stored.set_output(Some(Value::Object(output)));
    service.append_event(&mut session, stored).await.unwrap();
    let paths: Vec<_> = fields.iter().map(|field| format!("/output/{field}")).collect();
    let redactions = paths.iter().map(|path| async move { redact(service, &key("s"), "e1", &[path]).await });
    for outcome in join_all(redactions).await {
        outcome.unwrap();
    }
    let session = loaded(service, &key("s")).await;
    let output = session.events[0].output().unwrap().as_object().unwrap();
    assert!(output.values().all(|value| *value == REDACTED), "{output:?}");
}

/// The results of operations can be redacted from the event; the stored state stays.
pub async fn the_state_is_not_redacted_with_the_event(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    let mut stored = event("e1", 1.0).with_state("user:card", "4111");
    stored.actions_mut().set_state_ops("count".to_owned(), vec![StateOp::Add(2.into())]);
    service.append_event(&mut session, stored).await.unwrap();
    redact(service, &key("s"), "e1", &["/actions/state_delta"]).await.unwrap();
    let session = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap().unwrap();
    assert_eq!(*session.events[0].actions().state_delta(), object(json!({"user:card": REDACTED, "count": REDACTED})));
    assert_eq!(session.state, object(json!({"user:card": "4111", "count": 2})));
}
