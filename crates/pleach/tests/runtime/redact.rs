//! Redactions of events of runs that have ended, that wait, or that are in progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pleach::model::LlmResponse;
use pleach::prelude::*;
use pleach::{
    AuthConfig, FunctionCall, InMemorySessionService, Redaction, RedactionFault, RunProgress, RunRequest, Session,
    SessionError,
};
use serde_json::{Value, json};

use crate::support::{key, rerun, runner, trace};

/// A workflow that reads a card, asks whether it may be charged and returns the card.
fn asks() -> (Runner, Arc<InMemorySessionService>) {
    let mut wf = Workflow::builder("wf");
    let read = wf.node("read", async || json!({"card": "4111", "sum": 12}));
    let pay = FunctionNode::new("pay", async |ctx: Context, Input(order): Input<Value>| {
        let fine: bool = ctx.ask("fine", format!("Charge {}?", order["card"])).await?;
        Ok::<_, Fail>(json!([order, fine]))
    });
    let pay = wf.add(pay.rerun_on_resume(true));
    wf.edge(START, read).edge(read, pay);
    runner(wf.build().unwrap())
}

fn redaction(path: &str) -> Redaction {
    Redaction::new([path], "request 7")
}

/// The id of the only event that has the card in its output or that asks about the card.
async fn event_with(sessions: &InMemorySessionService, is_question: bool) -> String {
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let mut with = session.events.iter().filter(|event| event.is_interrupt() == is_question);
    with.find(|event| is_question || event.output().is_some()).unwrap().id().to_string()
}

/// The redaction record has the Runner's time. The waiting run reads the redacted output, and its question stays open.
#[tokio::test]
async fn a_run_that_waits_reads_the_redacted_output() {
    let (runner, sessions) = asks();
    trace(runner.run("ana", "s1", "go")).await;
    let before = runner.inbox("ana").await.unwrap();
    let (read, asked) = (event_with(&sessions, false).await, event_with(&sessions, true).await);
    let event = runner.redact("s1", read.as_str(), redaction("/output/card")).await.unwrap();
    assert_eq!(event.output(), Some(&json!({"card": "[redacted]", "sum": 12})));
    let note = &event.custom_metadata().unwrap()["pleach_redactions"][0];
    assert_eq!((&note["paths"], &note["reason"]), (&json!(["/output/card"]), &json!("request 7")));
    assert!(
        (note["at"].as_f64().unwrap() - event.timestamp()).abs() < 1.0,
        "of the runner's clock, which stands still"
    );
    runner.redact("s1", asked.as_str(), redaction("/content")).await.unwrap();
    let after = runner.inbox("ana").await.unwrap();
    assert_eq!((before.len(), after.len()), (1, 1));
    assert_eq!((&*before[0].question.message, &*after[0].question.message), ("Charge \"4111\"?", "[redacted]"));
    trace(runner.answer("s1", "fine", true).unwrap()).await;
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let last = session.events.iter().rev().find_map(|event| event.output()).unwrap();
    assert_eq!(*last, json!([{"card": "[redacted]", "sum": 12}, true]));
    assert!(matches!(runner.status("s1").await.unwrap().progress, RunProgress::Done));
    assert!(!serde_json::to_string(&session.events).unwrap().contains("4111"));
}

/// The run's next append fails. Nothing of the run is lost, and a resume continues it.
#[tokio::test]
async fn a_run_under_way_ends_and_can_be_resumed() {
    let (runner, sessions) = asks();
    let mut run = runner.run("ana", "s1", "go");
    while run.next().await.unwrap().unwrap().output().is_none() {}
    let read = event_with(&sessions, false).await;
    runner.redact("s1", read.as_str(), redaction("/output/card")).await.unwrap();
    let error = loop {
        match run.next().await {
            Some(Ok(_)) => {}
            other => break other.unwrap().unwrap_err(),
        }
    };
    assert!(matches!(&error, RunError::Session(error) if error.is_stale()), "{error}");
    let status = runner.status("s1").await.unwrap();
    trace(runner.resume("ana", "s1", status.invocation.unwrap())).await;
    assert_eq!(runner.inbox("ana").await.unwrap()[0].question.message, "Charge \"[redacted]\"?");
}

#[tokio::test]
async fn refused_redactions_name_the_fault() {
    let (runner, sessions) = asks();
    trace(runner.run("ana", "s1", "go")).await;
    let read = event_with(&sessions, false).await;
    for (event, path, fault) in [
        (read.as_str(), "/timestamp", RedactionFault::Fixed),
        (&read, "/output/name", RedactionFault::Absent),
        ("e", "/output", RedactionFault::UnknownEvent),
    ] {
        let error = runner.redact("s1", event, redaction(path)).await.unwrap_err();
        assert_eq!(error.code(), "RedactionError");
        let RunError::Session(SessionError::Redaction(error)) = error else { panic!("{error}") };
        assert_eq!(error.fault, fault);
    }
    let error = runner.redact("s9", read.as_str(), redaction("/output")).await.unwrap_err();
    assert!(matches!(error, RunError::UnknownSession { .. }), "{error}");
}

async fn session(sessions: &InMemorySessionService) -> Session {
    sessions.get_session(&key(), Default::default()).await.unwrap().unwrap()
}

async fn fault(runner: &Runner, event: &Event, path: &str) -> RedactionFault {
    let error = runner.redact("s1", event.id().clone(), redaction(path)).await.unwrap_err();
    let RunError::Session(SessionError::Redaction(error)) = error else { panic!("{path}: {error}") };
    error.fault
}

/// The part of a step's event that names the taken signal cannot be redacted, because the engine reads it.
#[tokio::test]
async fn a_signal_that_was_taken_stays_taken() {
    let (runner, sessions) = runner(rerun("wait", async |ctx: Context| {
        let begin: bool = ctx.ask("begin", "Begin?").await?;
        let first: String = ctx.wait_for_signal("parcel").await?;
        let fine: bool = ctx.ask("fine", "Fine?").await?;
        let second: String = ctx.wait_for_signal("parcel").await?;
        Ok(json!([begin, first, fine, second]))
    }));
    trace(runner.run("ana", "s1", "go")).await;
    for parcel in ["4111", "later"] {
        runner.signal("s1", "parcel", parcel).await.unwrap();
    }
    trace(runner.answer("s1", "begin", true).unwrap()).await;
    let events = session(&sessions).await.events;
    let taken = events.iter().find(|event| event.path().name() == "pleach_signal").unwrap();
    assert_eq!(taken.output().unwrap()["payload"], "4111");
    for path in ["/output/event", "/output/name"] {
        assert_eq!(fault(&runner, taken, path).await, RedactionFault::Fixed, "{path}");
    }
    // Only the output as a whole can be redacted.
    let left = runner.redact("s1", taken.id().clone(), redaction("/output")).await.unwrap();
    assert_eq!(left.output().unwrap()["payload"], "[redacted]");
    let output: Value = runner.answer("s1", "fine", true).unwrap().output().await.unwrap();
    assert_eq!(output, json!([true, "[redacted]", true, "later"]));
}

/// The newest answer that fits wins until its run has completed.
#[tokio::test]
async fn an_answer_that_replaced_another_one_stays_effective() {
    let is_down = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&is_down);
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || {
        let schema = json!({"type": "object", "properties": {"pay": {"type": "boolean"}}, "required": ["pay"]});
        RequestInput::<Value>::ask("q", "Pay?").with_schema(schema)
    });
    let pay = wf.node("pay", move |Input(answer): Input<Value>| {
        let is_down = seen.load(Ordering::Relaxed);
        async move { if is_down { Err(Fail::msg("down")) } else { Ok(answer["pay"].clone()) } }
    });
    wf.edge(START, ask).edge(ask, pay);
    let (runner, sessions) = runner(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    for answer in [json!({"pay": true, "note": "4111"}), json!({"pay": false, "note": "4111"})] {
        trace(runner.answer("s1", "q", answer).unwrap()).await;
    }
    let events = session(&sessions).await.events;
    let answers = || events.iter().filter(|event| event.function_responses().next().is_some());
    let [first, second] = answers().collect::<Vec<_>>()[..] else { panic!("two answers") };
    let response = "/content/parts/0/function_response/response";
    for answer in [first, second] {
        for path in ["/content", response, &format!("{response}/pay")] {
            assert_eq!(fault(&runner, answer, path).await, RedactionFault::ChangesQuestions, "{path}");
        }
        runner.redact("s1", answer.id().clone(), redaction(&format!("{response}/note"))).await.unwrap();
    }
    is_down.store(false, Ordering::Relaxed);
    let output: Value = runner.resume("ana", "s1", events[0].invocation_id()).output().await.unwrap();
    assert_eq!(output, json!(false));
}

/// A repeated message is compared with the part of the stored message that is not redacted.
#[tokio::test]
async fn the_request_of_a_redacted_message_can_be_repeated() {
    let (runner, sessions) = asks();
    let start = |text: &str| runner.start(RunRequest::new(key()).message(text).invocation_id("mine"));
    trace(start("my card is 4111")).await;
    let before = session(&sessions).await.events.len();
    let message = session(&sessions).await.events[0].id().clone();
    runner.redact("s1", message, redaction("/content/parts/0/text")).await.unwrap();
    let again = start("my card is 4111").output::<Value>().await.unwrap_err();
    assert!(matches!(again, RunError::Waiting(_)), "{again}");
    // A message with other parts is another message.
    let parts = vec![Part::text("my card is 4111"), Part::text("and my name")];
    let other = runner.start(RunRequest::new(key()).message(parts).invocation_id("mine"));
    let other = other.output::<Value>().await.unwrap_err();
    assert!(matches!(other, RunError::OtherMessage { .. }), "{other}");
    assert_eq!(session(&sessions).await.events.len(), before);
    // The request can also be repeated while a resume of the run is in progress.
    let mut resumed = runner.answer("s1", "fine", true).unwrap();
    resumed.next().await.unwrap().unwrap();
    let joined = start("my card is 4111").output::<Value>().await.unwrap();
    assert_eq!(joined, json!([{"card": "4111", "sum": 12}, true]));
}

/// The state keeps the values that a redacted event has set. The state of a copy keeps them if they are known.
#[tokio::test]
async fn copies_have_the_state_of_their_source() {
    let (runner, sessions) = runner(FunctionNode::new("set", async |ctx: Context, Input(text): Input<String>| {
        ctx.state().set("card", &text)?;
        ctx.state().set(&text, &text)?;
        Ok::<_, Fail>(text)
    }));
    for text in ["one", "two", "three"] {
        trace(runner.run("ana", "s1", text)).await;
    }
    let events = session(&sessions).await.events;
    let set: Vec<_> = events.iter().filter(|event| !event.actions().state_delta().is_empty()).collect();
    for event in &set[..2] {
        runner.redact("s1", event.id().clone(), redaction("/actions/state_delta/card")).await.unwrap();
    }
    let copy = async |place: usize| runner.fork("ana", "s1", set[place].id().clone(), None).await.unwrap();
    let all = json!({"card": "three", "one": "one", "two": "two", "three": "three"});
    assert_eq!(json!(session(&sessions).await.state), all);
    let whole = copy(2).await;
    assert_eq!(json!(whole.state), all);
    let stored = sessions.get_session(whole.key(), Default::default()).await.unwrap().unwrap();
    assert_eq!((&stored.state, &stored.events), (&whole.state, &whole.events));
    // The value of `card` at that event is not known any more.
    assert_eq!(json!(copy(1).await.state), json!({"card": "[redacted]", "one": "one", "two": "two"}));
    // No later event has set the keys, so their values are the current ones.
    runner.redact("s1", set[2].id().clone(), redaction("/actions/state_delta")).await.unwrap();
    assert_eq!(json!(copy(2).await.state), all);
    assert_eq!(json!(copy(0).await.state), json!({"card": "[redacted]", "one": "one"}));
    runner.rewind("ana", "s1", set[2].invocation_id().clone()).await.unwrap();
    let state = session(&sessions).await.state;
    assert_eq!(json!(state), json!({"card": "[redacted]", "one": "one", "two": "two", "three": null}));
}

/// When a credential comes, the calls that wait for it are made with their arguments. The same applies to a call that
/// waits for these calls.
#[tokio::test]
async fn calls_are_made_with_their_arguments() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Pay {
        card: String,
    }
    let pay = |name: &'static str| {
        let config = AuthConfig::new(json!({
            "authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"}, "rawAuthCredential": {"authType": "apiKey"},
        }));
        tool(name, "Pays.", move |Args(Pay { card }): Args<Pay>, ctx: ToolContext| {
            let config = config.clone();
            async move {
                match ctx.get_auth_response(&config) {
                    Some(_) => Ok(json!(card)),
                    None => ctx.request_credential(config).map(|()| json!("no key yet")),
                }
            }
        })
    };
    let calls =
        ["one", "two"].map(|name| FunctionCall::new(name, name, json!({"card": "4111"}).as_object().unwrap().clone()));
    let model = Arc::new(ScriptedModel::new().then(LlmResponse::calls(calls)).then_text("done"));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).tool(pay("one")).tool(pay("two"));
    let (runner, sessions) = runner(agent.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let events = session(&sessions).await.events;
    let called =
        events.iter().find(|event| event.function_calls().any(|call| call.id.as_deref() == Some("one"))).unwrap();
    let args = |part: usize| format!("/content/parts/{part}/function_call/args");
    for path in ["/content", &args(0), &args(1)] {
        assert_eq!(fault(&runner, called, path).await, RedactionFault::StillRead, "{path}");
    }
    let open = runner.questions(key()).await.unwrap();
    trace(runner.answer(key(), &open[0], "hush").unwrap()).await;
    let responses: Vec<_> = session(&sessions)
        .await
        .events
        .iter()
        .flat_map(|event| event.function_responses().cloned().collect::<Vec<_>>())
        .collect();
    assert_eq!(responses.iter().filter(|response| json!(response.response).to_string().contains("4111")).count(), 2);
    runner.redact("s1", called.id().clone(), Redaction::new([args(0), args(1)], "request 7")).await.unwrap();
}

/// The engine's notes may contain user data, so they can be redacted as well.
#[tokio::test]
async fn caught_failures_can_be_redacted() {
    let (runner, sessions) = runner(rerun("outer", async |ctx: Context| {
        let pay = FunctionNode::new("pay", async || Err::<(), _>(Fail::msg("no card 4111")));
        let error = ctx.run(&pay, ()).await.unwrap_err();
        let fine: bool = ctx.ask("fine", "Fine?").await?;
        Ok(json!([error.message(), fine]))
    }));
    trace(runner.run("ana", "s1", "go")).await;
    for event in session(&sessions).await.events {
        for path in ["/error_message", "/custom_metadata/pleach_caught_failures/0/message"] {
            let is_there = serde_json::to_value(&*event).unwrap().pointer(path).is_some();
            let redacted = runner.redact("s1", event.id().clone(), redaction(path)).await;
            assert_eq!(redacted.is_ok(), is_there, "{path}");
        }
    }
    assert!(!serde_json::to_string(&session(&sessions).await.events).unwrap().contains("4111"));
    let output: Value = runner.answer("s1", "fine", true).unwrap().output().await.unwrap();
    assert_eq!(output, json!(["Dynamic node pay failed", true]));
    assert!(!serde_json::to_string(&session(&sessions).await.events).unwrap().contains("4111"));
}
