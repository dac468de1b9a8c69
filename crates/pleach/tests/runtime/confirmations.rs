//! Requests of tools for approval: their texts, assignees and deadlines, and the fate of old requests.

use std::sync::Arc;
use std::time::Duration;

use pleach::prelude::*;
use pleach::{
    ConfirmationRequest, FollowOptions, InMemorySessionService, QuestionKind, Revision, RunError, RunRequest,
    RunnerBuilder,
};
use pleach_contract::{CountedIds, TestClock};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::agents::Count;
use crate::support::key;

#[derive(Deserialize, JsonSchema)]
struct Refund {
    cents: u32,
}

#[derive(serde::Serialize)]
struct Payee {
    to: String,
}

/// A tool that counts its calls and asks with a text of its own.
fn refund(count: &Count) -> FunctionTool {
    let count = count.clone();
    tool("refund", "Pays back.", move |Args(refund): Args<Refund>| {
        let count = count.clone();
        async move {
            count.add();
            refund.cents
        }
    })
}

fn asking(count: &Count) -> FunctionTool {
    refund(count).confirm_with(|_, refund: &Refund| {
        ConfirmationRequest::new(format!("Refund {} cents?", refund.cents))
            .with_payload(&Payee { to: "Ana".to_owned() })
            .assign_to("accounting")
            .within(Duration::from_secs(60))
    })
}

fn agent(tool: FunctionTool) -> LlmAgent {
    let model = ScriptedModel::calling("refund", json!({"cents": 189})).then_text("done").repeating();
    LlmAgent::builder("helper").model(model).tool(tool).build().unwrap()
}

fn builder(agent: LlmAgent) -> RunnerBuilder {
    let sessions = Arc::new(InMemorySessionService::new());
    Runner::builder("t").root(agent).sessions(sessions).clock(TestClock::running()).ids(CountedIds::new())
}

#[tokio::test(start_paused = true)]
async fn l115_a_tool_asks_for_approval_in_its_own_words() {
    let count = Count::default();
    let runner = builder(agent(asking(&count))).build().unwrap();
    runner.run("ana", "s1", "Pay it back.").reply().await.unwrap();
    let open = runner.questions(key()).await.unwrap();
    let [question] = open.as_slice() else { panic!("{open:?}") };
    assert_eq!((question.kind, &*question.message), (QuestionKind::Confirmation, "Refund 189 cents?"));
    assert_eq!(question.assignee.as_deref(), Some("accounting"));
    assert_eq!(question.payload.as_ref().unwrap()["toolConfirmation"]["payload"], json!({"to": "Ana"}));
    assert!((question.deadline.unwrap() - question.asked_at - 60.0).abs() < 0.001, "{question:?}");
    assert_eq!(question.default, Some(json!({"confirmed": false})));
    let listed = runner.inbox_for("accounting").await.unwrap();
    assert_eq!(listed.len(), 1);
    let run = runner.answer(key(), question, json!({"confirmed": true})).unwrap();
    assert_eq!((run.reply().await.unwrap().as_str(), count.get()), ("done", 1));
}

#[tokio::test(start_paused = true)]
async fn l115_a_confirmation_is_answered_at_its_deadline() {
    for (approves, calls) in [(false, 0), (true, 1)] {
        let count = Count::default();
        let tool = refund(&count).confirm_with(move |_, _: &Refund| {
            let request = ConfirmationRequest::new("Sure?").within(Duration::from_secs(60));
            if approves { request.or_approve() } else { request }
        });
        let runner = builder(agent(tool)).build().unwrap();
        runner.run("ana", "s1", "Pay it back.").reply().await.unwrap();
        let mut followed = runner.follow_with(key(), FollowOptions::new().across_pauses(true)).await.unwrap();
        while followed.next().await.unwrap().unwrap().text() != "done" {}
        assert_eq!(count.get(), calls, "{approves}");
        assert!(runner.questions(key()).await.unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn r852_a_tool_node_asks_in_the_words_of_its_tool() {
    let count = Count::default();
    let mut wf = Workflow::builder("wf");
    let node = wf.tool(asking(&count));
    wf.edge(START, node);
    let sessions = InMemorySessionService::new();
    let runner = Runner::builder("t").root(wf.build().unwrap()).sessions(sessions).build().unwrap();
    let error = runner.run("ana", "s1", Message::data(json!({"cents": 5}))).output::<u32>().await.unwrap_err();
    let RunError::Waiting(open) = error else { panic!("{error}") };
    assert_eq!((&*open[0].message, open[0].assignee.as_deref()), ("Refund 5 cents?", Some("accounting")));
    assert!(open[0].deadline.is_some());
    let run = runner.answer(key(), &open[0], json!({"confirmed": true})).unwrap();
    assert_eq!((run.output::<u32>().await.unwrap(), count.get()), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn l115_arguments_that_do_not_fit_are_asked_about_as_usual() {
    let count = Count::default();
    let model = ScriptedModel::calling("refund", json!({"cents": "many"})).then_text("done");
    let agent = LlmAgent::builder("helper").model(model).tool(asking(&count)).build().unwrap();
    let runner = builder(agent).build().unwrap();
    runner.run("ana", "s1", "Pay it back.").reply().await.unwrap();
    let open = runner.questions(key()).await.unwrap();
    assert!(open[0].message.starts_with("Please approve or reject the tool call refund()"), "{open:?}");
    assert_eq!((open[0].assignee.as_deref(), open[0].deadline), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_message_closes_open_confirmations_if_the_app_says_so() {
    for closes in [false, true] {
        let count = Count::default();
        let runner = builder(agent(refund(&count).require_confirmation())).close_confirmations(closes).build().unwrap();
        runner.run("ana", "s1", "Pay it back.").reply().await.unwrap();
        let old = runner.questions(key()).await.unwrap().remove(0);
        runner.run("ana", "s1", "No, what is the weather?").reply().await.unwrap();
        let still_open = runner.questions(key()).await.unwrap().iter().any(|question| question.id == old.id);
        assert_eq!(still_open, !closes);
        let answered = match runner.answer(key(), &old, json!({"confirmed": true})) {
            Ok(run) => run.reply().await.map(drop),
            Err(error) => Err(error),
        };
        assert_eq!((answered.is_ok(), count.get()), (!closes, u32::from(!closes)), "{answered:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_at_a_revision_closes_confirmations_only_at_that_revision() {
    let count = Count::default();
    let runner = builder(agent(refund(&count).require_confirmation())).close_confirmations(true).build().unwrap();
    runner.run("ana", "s1", "Pay it back.").reply().await.unwrap();
    let old = runner.questions(key()).await.unwrap().remove(0);
    let held = runner.status(key()).await.unwrap().revision;
    let send = |at: Revision| runner.start(RunRequest::new(key()).message("No, what is the weather?").at(at)).reply();
    let stale = send(Revision::default()).await.unwrap_err();
    assert!(matches!(&stale, RunError::Session(error) if error.is_stale()), "{stale}");
    assert_eq!(runner.questions(key()).await.unwrap().len(), 1, "nothing is closed");
    send(held).await.unwrap();
    let open = runner.questions(key()).await.unwrap();
    assert!(open.iter().all(|question| question.id != old.id), "{open:?}");
}

#[tokio::test]
async fn the_payload_of_a_confirmation_without_a_json_form_fails_its_call() {
    let count = Count::default();
    let tool = refund(&count).confirm_with(|_, _: &Refund| ConfirmationRequest::new("Refund?").with_payload(f64::NAN));
    let error = builder(agent(tool)).build().unwrap().run("ana", "s1", "go").reply().await.unwrap_err();
    assert!(error.to_string().contains("the payload of a confirmation has no JSON form"), "{error}");
}
