//! Traces as snapshots.

use std::sync::Arc;
use std::time::Duration;

use pleach::prelude::*;
use pleach::testkit::{Effects, ModelByTurn, ScriptedHuman, Trace};
use pleach::{Content, InMemorySessionService, NodeError, RunRequest, SessionKey};
use serde_json::json;

use crate::support::{alone, order};

/// Plays a conversation with random ids and the machine's clock.
async fn played(root: impl pleach::Node, human: &ScriptedHuman) -> Trace {
    let sessions = Arc::new(InMemorySessionService::new());
    let runner = Runner::builder("t").root(root).sessions(Arc::clone(&sessions)).build().unwrap();
    for message in ["12", "15"] {
        let request = RunRequest::new(("ana", "s1")).message(message);
        // A run that fails is in the trace.
        drop(human.converse(&runner, request).await);
    }
    Trace::of_session(&*sessions, &SessionKey::new("t", "ana", "s1")).await.unwrap()
}

#[tokio::test]
async fn a_workflow() {
    let trace = played(order(&Effects::new()), &ScriptedHuman::new().answers("ship", true)).await;
    insta::assert_snapshot!(trace, @r#"
    invocation 1
      user: says "12"
      shop@1/order@1/charge@step-1 (shop): gives "r-1"
      shop@1/order@1 (shop): asks ship "Ship it?"
      user: answers ship true
      shop@1/order@1/send@step-1 (shop): notes progress
      shop@1/order@1 (shop): gives "r-1 true"; sets user:sold = "12"
    invocation 2
      user: says "15"
      shop@1/order@1/charge@step-1 (shop): gives "r-1"
      shop@1/order@1 (shop): asks ship "Ship it?"
      user: answers ship true
      shop@1/order@1/send@step-1 (shop): notes progress
      shop@1/order@1 (shop): gives "r-1 true"; sets user:sold = "15"
    "#);
}

#[tokio::test]
async fn ids_are_counted_and_times_are_left_out() {
    let root = || {
        alone(async |ctx: Context, input: String| {
            let id: String = ctx.step("id", async || Ok(ctx.idempotency_key())).await?;
            let asks = RequestInput::ask(format!("ok-{id}"), "Pay?").with_deadline(ctx.now() + HOUR);
            let paid: Option<bool> = ctx.ask_with(asks.assign_to("lead").with_payload(json!({"receipt": id}))).await?;
            ctx.sleep(HOUR).await?;
            Ok(json!([input, id, paid]))
        })
    };
    let human = ScriptedHuman::new().answers("ok-*", true);
    let trace = played(root(), &human).await;
    assert_eq!(trace, played(root(), &human).await);
    insta::assert_snapshot!(trace.redact("lead", "<somebody>"), @r#"
    invocation 1
      user: says "12"
      shop@1/order@1/id@step-1 (shop): gives "<id 1>"
      shop@1/order@1 (shop): asks ok-<id 1> "Pay?" with {"receipt":"<id 1>"} of <somebody> for 3600 s
      user: answers ok-<id 1> true
      shop@1/order@1 (shop): sleeps for 3600 s
    invocation 2
      user: says "15"
      shop@1/order@1/id@step-1 (shop): gives "<id 2>"
      shop@1/order@1 (shop): asks ok-<id 2> "Pay?" with {"receipt":"<id 2>"} of <somebody> for 3600 s
      user: answers ok-<id 2> true
      shop@1/order@1 (shop): sleeps for 3600 s
    "#);
}

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn an_agent_and_a_failure() {
    let weather = tool("weather", "Weather.", async || Ok::<_, NodeError>(json!({"sky": "blue"})));
    let model = ModelByTurn::new().then_call("weather", json!({})).then(Content::model("Blue.\nNice."));
    let agent = LlmAgent::builder("helper").model(model).tool(weather).output_key("said").build().unwrap();
    insta::assert_snapshot!(played(agent, &ScriptedHuman::new()).await, @r#"
    invocation 1
      user: says "12"
      helper@1 (helper): calls weather {}
      helper@1 (helper): answers weather {"sky":"blue"}
      helper@1 (helper): says "Blue.\nNice."; sets said = "Blue.\nNice."
    invocation 2
      user: says "15"
      helper@1 (helper): fails with ModelError: model `model-by-turn` failed: the script has no reply left: turn 3 of a script of 2; add replies, or let the last one repeat with `.repeating()`
    "#);
}

#[test]
fn a_trace_is_a_serde_value() {
    let event = Event::from_author("shop").with_node_path("shop@1/price@1").with_output(12);
    let trace = Trace::of(&[Arc::new(event)]);
    let expected = json!([{"invocation": 1, "author": "shop", "path": "shop@1/price@1", "does": ["gives 12"]}]);
    assert_eq!(serde_json::to_value(&trace).unwrap(), expected);
}

#[test]
fn a_text_is_redacted_everywhere() {
    let event = Event::from_author("otter-ltd")
        .with_node_path("otter-ltd@1")
        .with_branch("otter-ltd@1")
        .with_output("otter-ltd");
    let trace = Trace::of(&[Arc::new(event)]).redact("otter-ltd", "<customer>");
    let text = serde_json::to_string(&trace).unwrap();
    assert!(!text.contains("otter-ltd"), "{text}");
}
