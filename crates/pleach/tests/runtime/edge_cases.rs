//! Edge cases that recorded scenarios cannot express. `docs/rules.md` lists all edge cases.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pleach::prelude::*;
use pleach::{
    AbortSignal, App, Field, FieldType, Hook, InvocationContext, Plugin, Route, RunRequest, Schema, SessionKey,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{key, runner, stored, trace};

/// The stored events of the session as JSON.
async fn events(runner: &Runner) -> Vec<Value> {
    let session = runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap();
    session.events.iter().map(|event| serde_json::to_value(&**event).unwrap()).collect()
}

fn request() -> RunRequest {
    RunRequest::new(("ana", "s1")).message("go")
}

// R505: pleach uses a schema where google-adk reads annotations.
#[tokio::test]
async fn e4_e5_types_of_handlers_are_not_schemas() {
    #[derive(Serialize, Deserialize)]
    struct Order {
        x: i64,
        y: Option<i64>,
    }
    let node = || FunctionNode::new("node", async || Order { x: 1, y: None });
    assert_eq!(trace(runner(node()).0.run("ana", "s1", "go")).await, ["node@1: {\"x\":1,\"y\":null}"]);
    let fields = [Field::new("x", FieldType::Int), Field::new("y", FieldType::Int).optional()];
    let node = node().output_schema(Schema::model("Order", fields));
    assert_eq!(trace(runner(node).0.run("ana", "s1", "go")).await, ["node@1: {\"x\":1}"]);

    let mut wf = Workflow::builder("wf");
    let gives = wf.node("gives", async || json!({"x": "abc"}));
    let takes = wf.node("takes", async |Input(order): Input<Order>| order.x);
    wf.edge(START, gives).edge(gives.gives::<Order>(), takes);
    let lines = trace(runner(wf.build().unwrap()).0.run("ana", "s1", "go")).await;
    assert!(lines[1].starts_with("wf@1/takes@1: ValidationError"), "{lines:?}");
}

#[tokio::test]
async fn e31_a_message_marked_as_output_is_stored_without_one_and_goes_downstream() {
    let mut wf = Workflow::builder("wf");
    let says = wf.node("says", async || {
        let mut event = Event::message("hey");
        event.set_message_as_output(Some(true));
        event
    });
    let next = wf.node("next", async |Input(given): Input<Content>| json!({"got": given}));
    wf.edge(START, says).edge(says.dynamic(), next);
    let (runner, _) = runner(wf.build().unwrap());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    let content = "{\"parts\":[{\"text\":\"hey\"}],\"role\":\"user\"}";
    assert_eq!(lines, ["wf@1/says@1: says hey".to_owned(), format!("wf@1/next@1: {{\"got\":{content}}}")]);
    let event = &events(&runner).await[1];
    assert_eq!((&event["output"], &event["node_info"]["message_as_output"]), (&Value::Null, &json!(true)));
}

#[tokio::test]
async fn e32_a_node_cannot_speak_for_another_one() {
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async || {
        let mut event = Event::message("m").with_author("custom").with_node_path("wf@1/other@7");
        event.set_invocation_id("e-other");
        event
    });
    wf.edge(START, a);
    let (runner, _) = runner(wf.build().unwrap());
    let event = runner.run("ana", "s1", "go").next().await.unwrap().unwrap();
    assert_eq!((event.author(), event.path().as_str()), ("wf", "wf@1/a@1"));
    assert_eq!(event.invocation_id().as_str(), events(&runner).await[0]["invocation_id"].as_str().unwrap());
}

#[tokio::test]
async fn e34_state_of_a_partial_event_is_handed_out_only() {
    let node = FunctionNode::new("node", async || Event::message("frag").with_partial(true).with_state("k", 1));
    let (runner, sessions) = runner(node);
    assert_eq!(trace(runner.run("ana", "s1", "go")).await, ["node@1: state {\"k\":1}"]);
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert_eq!((session.events.len(), session.state.is_empty()), (1, true));
}

#[tokio::test]
async fn e36_e44_values_are_json_and_values_without_a_json_form_are_refused() {
    let bytes = FunctionNode::new("bytes", async || b"hi".to_vec());
    assert_eq!(trace(runner(bytes).0.run("ana", "s1", "go")).await, ["bytes@1: [104,105]"]);
    let node = FunctionNode::new("node", async |ctx: Context| -> Result<(), NodeError> {
        ctx.state().set("kept", 1)?;
        ctx.state().set("k", BTreeMap::from([((1, 2), 3)]))
    });
    let (runner, sessions) = runner(node);
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert!(lines[0].starts_with("node@1: state {\"kept\":1}, ValidationError: state key 'k'"), "{lines:?}");
    assert_eq!(stored(&sessions).await.len(), 1);
}

#[tokio::test]
async fn e51_a_status_of_an_error_is_its_code() {
    let node = FunctionNode::new("node", async || Err::<(), _>(NodeError::value("no").with_status("DENIED")));
    let lines = trace(runner(node).0.run("ana", "s1", "go")).await;
    assert_eq!(lines, ["node@1: DENIED: no", "! ValueError: no"]);
}

#[tokio::test]
async fn e54_the_default_policy_tries_five_times() {
    let node = FunctionNode::new("node", async |ctx: Context| -> Result<(), NodeError> {
        Err(NodeError::value(ctx.attempt_count().to_string()))
    });
    let lines = trace(runner(node.retry(RetryConfig::default())).0.run("ana", "s1", "go")).await;
    let failed = |attempt| format!("node@1: ValueError: {attempt}");
    let expected: Vec<String> = (1..=5).map(failed).chain(["! ValueError: 5".to_owned()]).collect();
    assert_eq!(lines, expected);
}

#[test]
fn e58_e85_policies_and_routes_have_names_and_keys_of_their_types() {
    assert!(serde_json::from_value::<RetryConfig>(json!({"exceptions": ["KeyError"]})).is_ok());
    assert!(serde_json::from_value::<RetryConfig>(json!({"exceptions": [3]})).is_err());
    for no_key in [json!(1.5), json!(null), json!({"x": 1})] {
        assert!(serde_json::from_value::<Route>(no_key.clone()).is_err(), "{no_key}");
    }
}

#[test]
fn e81_e86_faults_of_edges_name_the_nodes() {
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async || ());
    wf.edge(START, a).edge(a, a.dynamic());
    let error = wf.build().unwrap_err().to_string();
    assert!(error.contains("Unconditional cycle detected: a -> a."), "{error}");

    let mut wf = Workflow::builder("wf");
    let (a, b) = (wf.node("a", async || ()), wf.node("b", async || ()));
    wf.edge(START, a).edge(a, b).edge(b, a);
    let error = wf.build().unwrap_err().to_string();
    assert!(error.contains("Unconditional cycle detected: a -> b -> a."), "{error}");

    let schema = |name: &str| Schema::model(name, [Field::new("x", FieldType::Int)]);
    let mut wf = Workflow::builder("wf");
    let gives = wf.add(FunctionNode::new("f1", async || Value::Null).output_schema(schema("A")));
    let takes = wf.add(FunctionNode::new("f2", async |Input(v): Input<Value>| v).input_schema(schema("B")));
    wf.edge(START, gives).edge(gives, takes);
    let error = wf.build().unwrap_err().to_string();
    assert!(error.contains("Schema mismatch on edge f1 -> f2"), "{error}");
}

#[tokio::test]
async fn e169_answers_to_two_invocations_are_refused_by_their_names() {
    let node = FunctionNode::new("node", async |ctx: Context| {
        let asker = ctx.invocation().user_content().map(Content::text).unwrap_or_default();
        RequestInput::<i64>::ask(asker, "?")
    });
    let (runner, _) = runner(node);
    for text in ["q1", "q2"] {
        let request = RunRequest::new(("ana", "s1")).message(text).invocation_id(format!("inv-{text}"));
        trace(runner.start(request)).await;
    }
    let before = events(&runner).await;
    let lines = trace(runner.answer_all("s1", [("q2", 2), ("q1", 1)]).unwrap()).await;
    let rule = "All function responses in a single message must belong to the same invocation.";
    let several = "Function responses resolve to multiple invocations: {'inv-q1', 'inv-q2'}.";
    assert_eq!(lines, [format!("! ValueError: {several} {rule}")]);
    assert_eq!(events(&runner).await, before);
}

#[tokio::test]
async fn e173_an_id_without_a_call_pauses_and_cannot_be_answered() {
    let mut wf = Workflow::builder("wf");
    let waits = wf.node("waits", async || Event::new().with_long_running(["lr"]));
    let next = wf.node("next", async || 1);
    wf.edge(START, waits).edge(waits.dynamic(), next);
    let (runner, _) = runner(wf.build().unwrap());
    assert_eq!(trace(runner.run("ana", "s1", "go")).await, ["wf@1/waits@1: says "]);
    let lines = trace(runner.answer("s1", "lr", 1).unwrap()).await;
    assert_eq!(lines, ["! ValueError: Function call not found for function response ids: {'lr'}."]);
}

/// A plugin that replaces the first output and records its other calls.
#[derive(Debug)]
struct Replacer(&'static str, Arc<Mutex<Vec<String>>>);

impl Plugin for Replacer {
    fn name(&self) -> &str {
        self.0
    }

    fn on_event<'a>(&'a self, _: &'a InvocationContext, event: &'a Event) -> Hook<'a, Option<Event>> {
        Some(Box::pin(async move {
            self.1.lock().unwrap().push(format!("{} {}", self.0, event.path()));
            let first = self.0 == "p1" && event.path().name() == "a";
            Ok(first.then(|| Event::of("REPL").with_author("zz")))
        }))
    }

    fn after_run<'a>(&'a self, _: &'a InvocationContext) -> Hook<'a, ()> {
        Some(Box::pin(async move {
            self.1.lock().unwrap().push(format!("{} after", self.0));
            Ok(())
        }))
    }
}

#[tokio::test]
async fn e202_a_replaced_event_keeps_its_place_and_the_next_plugin_is_not_asked() {
    let mut wf = Workflow::builder("wf");
    let (a, b) = (wf.node("a", async || "A"), wf.node("b", async |Input(text): Input<String>| text));
    wf.edge(START, a).edge(a.gives::<String>(), b);
    let notes = Arc::default();
    let plugins = ["p1", "p2"].map(|name| Replacer(name, Arc::clone(&notes)));
    let [p1, p2] = plugins;
    let runner = Runner::builder("t").root(wf.build().unwrap()).plugin(p1).plugin(p2).build().unwrap();
    let first = runner.run("ana", "s1", "go").next().await.unwrap().unwrap();
    assert_eq!((first.author(), first.path().as_str(), first.output()), ("zz", "wf@1/a@1", Some(&json!("REPL"))));
    let lines = trace(runner.run("ana", "s2", "go")).await;
    assert_eq!(lines, ["wf@1/a@1: \"REPL\"", "wf@1/b@1: \"A\""]);
    let seen = notes.lock().unwrap().clone();
    assert_eq!(seen[1..], ["p1 wf@1/a@1", "p1 wf@1/b@1", "p2 wf@1/b@1", "p1 after", "p2 after"]);
}

#[tokio::test]
async fn e210_e212_e214_e215_a_message_may_have_no_role_and_no_parts_and_an_invocation_a_name() {
    let (runner, _) = runner(FunctionNode::new("node", async || 1));
    let bare: Content = serde_json::from_value(json!({"parts": []})).unwrap();
    let request = RunRequest::new(("ana", "s1")).message(bare).invocation_id("my-inv").yield_user_message(true);
    let mut run = runner.start(request);
    let first = run.next().await.unwrap().unwrap();
    assert_eq!((first.author(), first.invocation_id().as_str()), ("user", "my-inv"));
    assert_eq!(trace(run).await, ["node@1: 1"]);
    let stored = events(&runner).await;
    assert_eq!((&stored[0]["content"]["role"], stored.len()), (&json!("user"), 2));
    assert_eq!(stored[1]["invocation_id"], "my-inv");
}

#[tokio::test]
async fn e219_e221_an_aborted_run_ends_with_a_seal_and_its_hooks() {
    let signal = AbortSignal::new();
    let trigger = signal.clone();
    let node = FunctionNode::new("node", move |ctx: Context| {
        let signal = trigger.clone();
        async move {
            ctx.emit(Event::message("work")).await?;
            signal.abort();
            std::future::pending::<Result<(), NodeError>>().await
        }
    });
    let notes = Arc::default();
    let runner = Runner::builder("t").root(node).plugin(Replacer("p", Arc::clone(&notes))).build().unwrap();
    let seal = ": INVOCATION_ABORTED: Invocation was aborted by client.";
    let lines = trace(runner.start(request().abort_signal(signal))).await;
    assert_eq!(lines, ["node@1: says work", seal]);
    assert_eq!(notes.lock().unwrap().last().unwrap(), "p after");

    let signal = AbortSignal::new();
    signal.abort();
    let early = RunRequest::new(("ana", "s2")).message("go").abort_signal(signal);
    assert_eq!(trace(runner.start(early)).await, [seal]);
    let early = SessionKey::new("t", "ana", "s2");
    let session = runner.sessions().get_session(&early, Default::default()).await.unwrap().unwrap();
    let authors: Vec<&str> = session.events.iter().map(|event| event.author()).collect();
    assert_eq!(authors, ["user", "node"]);
}

#[test]
fn e226_e227_an_app_has_a_name_and_a_runner_a_root() {
    let node = || FunctionNode::new("node", async || 1);
    for (name, rule) in [("1a", "invalid_app_name"), ("", "invalid_app_name"), ("user", "reserved_app_name")] {
        assert_eq!(App::new(name, node()).unwrap_err().rule(), rule);
    }
    assert!(App::new("a-b_1", node()).is_ok());
    assert_eq!(Runner::builder("t").build().unwrap_err().rule(), "no_root");
}

/// JSON has no NaN. A node that produces one fails; the number does not silently become null.
#[tokio::test]
async fn a_nan_is_refused_wherever_a_node_produces_it() {
    async fn refused(node: impl pleach::Node) {
        let (runner, sessions) = runner(node);
        let error = runner.run("ana", "s1", "go").output::<Value>().await.unwrap_err();
        assert_eq!(error.code(), "ValidationError", "{error}");
        assert!(error.to_string().contains("no JSON form"), "{error}");
        assert!(stored(&sessions).await.iter().all(|line| !line.contains("null")));
    }
    refused(FunctionNode::new("n", async |ctx: Context| ctx.set_output(f64::NAN))).await;
    refused(FunctionNode::new("n", async |ctx: Context| ctx.set_output([1.0, f32::INFINITY]))).await;
    refused(FunctionNode::new("n", async || pleach::Output::of(1).state("k", f64::NAN).route("x"))).await;
    refused(FunctionNode::new("n", async |ctx: Context| ctx.state().set("k", f64::NAN))).await;
    let asks = async || RequestInput::<i64>::ask("q", "?").with_payload([1.0, f64::NAN]);
    refused(FunctionNode::new("n", asks)).await;
    assert!(pleach::NodeInput::try_json(f64::NAN).is_err());
    assert!(RequestInput::<i64>::ask("q", "?").try_with_payload(f64::NAN).is_err());
    let mut actions = pleach::EventActions::new();
    assert!(actions.try_set_state("k", f64::NAN).is_err());
    assert!(actions.state_delta().is_empty());
    actions.try_set_state("k", 1.5).unwrap();
    assert_eq!(actions.state_delta()["k"], json!(1.5));
}

#[tokio::test]
async fn a_message_with_a_nan_starts_no_run() {
    #[derive(Serialize)]
    struct Order {
        x: f64,
    }
    let (runner, sessions) = runner(FunctionNode::new("n", async || 1));
    let run = runner.run("ana", "s1", pleach::Message::data(Order { x: f64::NAN }));
    let error = run.output::<i64>().await.unwrap_err();
    assert_eq!(error.code(), "UnstorableValueError");
    assert!(error.to_string().contains("message cannot be stored: its data has no JSON form"), "{error}");
    assert!(sessions.get_session(&key(), Default::default()).await.unwrap().is_none_or(|s| s.events.is_empty()));
    let run = runner.run("ana", "s1", pleach::Message::data(Order { x: 0.5 }));
    assert_eq!(run.output::<i64>().await.unwrap(), 1);
}
