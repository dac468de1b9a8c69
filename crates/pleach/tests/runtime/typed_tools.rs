//! Workflows with a declared input: the declarations that models see if such a workflow is a tool, and the check of messages.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{Content, Node, NodeTool, RunProgress, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{key, runner, stored, trace};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Alert {
    /// The service that fails.
    service: String,
    severity: u8,
    #[serde(default)]
    seen: Option<Seen>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
enum Seen {
    Once,
    Often,
}

async fn rate(Input(alert): Input<Alert>) -> String {
    format!("{} is rated {}", alert.service, alert.severity)
}

fn triage() -> Workflow<Alert> {
    let mut wf = Workflow::builder("triage").input::<Alert>();
    let rate = wf.node("rate", rate);
    wf.edge(START, rate);
    wf.build().unwrap()
}

#[tokio::test]
async fn l199_a_typed_workflow_offers_the_model_its_type() {
    let model = ScriptedModel::calling("triage", json!({"service": "mail", "severity": "2"})).then_text("done");
    let agent = LlmAgent::builder("helper").model(model.clone()).tool(NodeTool::new(triage())).build().unwrap();
    let (runner, _) = runner(agent);
    assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "done");
    let requests = model.requests();
    let declared = requests[0].declarations().next().unwrap().clone();
    let parameters = serde_json::to_value(&declared).unwrap()["parameters_json_schema"].clone();
    let properties = parameters["properties"].as_object().unwrap_or_else(|| panic!("{parameters}"));
    assert_eq!(properties["service"]["description"], "The service that fails.");
    assert!(properties.contains_key("severity") && !properties.contains_key("request"), "{parameters}");
    assert!(format!("{:?}", requests[1].contents).contains("mail is rated 2"), "{:?}", requests[1].contents);
}

#[tokio::test]
async fn l199_arguments_that_do_not_fit_a_typed_workflow_go_back_to_the_model() {
    for args in [json!({"severity": 2}), json!({"service": "mail", "severity": "high"}), json!({"request": "mail"})] {
        let model = ScriptedModel::calling("triage", args.clone())
            .then_call("triage", json!({"service": "mail", "severity": 1, "seen": "Once"}))
            .then_text("done");
        let agent = LlmAgent::builder("helper").model(model.clone()).tool(NodeTool::new(triage())).build().unwrap();
        let (runner, _) = runner(agent);
        assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "done", "{args}");
        let requests = model.requests();
        let answer = format!("{:?}", requests[1].contents);
        assert!(answer.contains("argument validation errors"), "{args}: {answer}");
        assert!(format!("{:?}", requests[2].contents).contains("mail is rated 1"), "{args}");
    }
}

#[test]
fn l199_a_tool_whose_shape_nothing_declares_does_not_build() {
    let untyped = || {
        let mut wf = Workflow::builder("triage");
        let rate = wf.node("rate", rate);
        wf.edge(START, rate);
        wf
    };
    let refusal = |tool: NodeTool| LlmAgent::builder("helper").tool(tool).build().unwrap_err().to_string();
    for (tool, expected) in [
        (NodeTool::new(untyped().build().unwrap()), "input::<Alert>()"),
        (NodeTool::new(FunctionNode::new("rate", rate)), "Schema::of::<Alert>()"),
        (NodeTool::new(FunctionNode::new("sum", async |Input(list): Input<Vec<u32>>| list.len())), "Vec<u32>"),
    ] {
        let error = refusal(tool);
        assert!(error.contains(expected) && error.contains("'helper'"), "{error}");
    }
    let in_graph = {
        let mut wf = Workflow::builder("wf");
        let node = wf.tool(NodeTool::new(FunctionNode::new("rate", rate)));
        wf.edge(START, node);
        wf.build().unwrap_err()
    };
    assert_eq!(in_graph.rule(), "tool_without_schema");
    let builds = |tool: NodeTool| assert!(LlmAgent::builder("helper").tool(tool).build().is_ok());
    builds(NodeTool::new(untyped().input_schema(Schema::of::<Alert>()).build().unwrap()));
    builds(NodeTool::new(FunctionNode::new("rate", rate).input_schema(Schema::of::<Alert>())));
    builds(NodeTool::new(FunctionNode::new("any", async |Input(any): Input<Value>| any)));
    builds(NodeTool::new(FunctionNode::new("text", async |Input(text): Input<String>| text)));
    builds(NodeTool::new(FunctionNode::new("message", async |Input(content): Input<Content>| content.text())));
    builds(NodeTool::new(FunctionNode::new("number", async |Input(n): Input<i64>| n)));
    builds(NodeTool::new(FunctionNode::new("none", async || 1)));
}

#[tokio::test]
async fn r304_the_error_for_a_message_that_does_not_fit_a_typed_root_names_the_expected_input() {
    for message in ["the mail is down", r#"{"service": "mail"}"#] {
        let (runner, sessions) = runner(triage());
        let lines = trace(runner.run("ana", "s1", message)).await;
        let last = lines.last().unwrap();
        assert!(last.starts_with("! ValidationError: workflow 'triage' takes a Alert: "), "{last}");
        assert!(last.ends_with(r#"send a message such as {"seen":"Once","service":"text","severity":1}"#), "{last}");
        assert!(!stored(&sessions).await.is_empty());
    }
    let (runner, _) = runner(triage());
    let message = Message::data(json!({"service": "mail", "severity": 3}));
    assert_eq!(runner.run("ana", "s1", message).output::<String>().await.unwrap(), "mail is rated 3");
}

#[tokio::test]
async fn r304_a_message_is_not_checked_again_when_its_invocation_continues() {
    // An earlier version of the workflow took any text.
    let mut before = Workflow::builder("triage");
    let read = before.node("read", async |Input(text): Input<String>| text);
    let ask = before.node("ask", async || RequestInput::<bool>::ask("q1", "Fine?"));
    before.edge(START, read).edge(read, ask);
    let (earlier, sessions) = runner(before.build().unwrap());
    trace(earlier.run("ana", "s1", "the mail is down")).await;
    let mut now = Workflow::builder("triage").input::<Alert>();
    let read = now.node("read", async |Input(alert): Input<Alert>| alert.service);
    let ask = now.node("ask", async || RequestInput::<bool>::ask("q1", "Fine?"));
    now.edge(START, read).edge(read, ask);
    let later = Runner::builder("t").root(now.build().unwrap()).sessions(Arc::clone(&sessions)).build().unwrap();
    assert!(matches!(later.status(&key()).await.unwrap().progress, RunProgress::Waiting));
    assert!(later.answer(key(), "q1", true).unwrap().output::<bool>().await.unwrap());
}

#[test]
fn r301_a_node_knows_what_it_reads() {
    let names = |spec: &pleach::NodeSpec| spec.reads.iter().map(|reader| reader.type_name()).collect::<Vec<_>>();
    assert_eq!(names(triage().spec()), ["Alert"]);
    assert_eq!(
        names(FunctionNode::new("n", async |_: Context, Input(n): Input<Option<u32>>| n).spec()),
        ["Option<u32>"]
    );
    assert!(names(FunctionNode::new("n", async || 1).spec()).is_empty());
}
