//! The spans and their parents.

use pleach::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::{Instrument as _, Span, info_span};

use crate::recorder::Recorder;
use crate::support::{finish, runner};

#[derive(Deserialize, JsonSchema)]
struct Add {
    x: i64,
}

fn add() -> FunctionTool {
    tool("add", "Adds one.", async |Args(a): Args<Add>| json!(a.x + 1))
}

async fn one() -> i64 {
    1
}

async fn plus(Input(n): Input<i64>) -> i64 {
    n + 1
}

/// A nested workflow of two nodes.
fn inner() -> Workflow {
    let mut wf = Workflow::builder("inner");
    let (plus, again) = (wf.node("plus", plus), wf.node("again", plus));
    wf.edge(START, plus).edge(plus, again);
    wf.build().unwrap()
}

#[tokio::test]
async fn a_run_is_the_child_of_the_run_above_it() {
    let (recorder, _guard) = Recorder::start();
    let mut wf = Workflow::builder("outer");
    let first = wf.node("one", one);
    let inner = wf.add(inner());
    let tool = wf.tool(add());
    wf.edge(START, first).edge(first.dynamic(), inner).edge(inner.dynamic(), tool);
    finish(runner(wf.build().unwrap()).run("ana", "s1", "go")).await;
    let expected = "\
invoke_workflow outer completed
  invoke_node one completed
  invoke_workflow inner completed
    invoke_node plus completed
    invoke_node again completed
  invoke_node add completed
    execute_tool add completed
";
    assert_eq!(recorder.tree(), expected);
    recorder.assert_over();
}

#[tokio::test]
async fn dynamic_children_stand_below_their_caller_and_its_own_spans() {
    let (recorder, _guard) = Recorder::start();
    let parent = async |ctx: Context| {
        let child = FunctionNode::new("child", plus);
        let first: i64 = ctx.run(&child, 1).await?;
        let second: i64 = ctx.run(&child, first).instrument(info_span!("mine")).await?;
        Ok::<_, NodeError>(second)
    };
    let mut wf = Workflow::builder("wf");
    let parent = wf.add(FunctionNode::new("parent", parent).rerun_on_resume(true));
    wf.edge(START, parent);
    finish(runner(wf.build().unwrap()).run("ana", "s1", "go")).await;
    let expected = "\
invoke_workflow wf completed
  invoke_node parent completed
    invoke_node child completed
    mine
      invoke_node child completed
";
    assert_eq!(recorder.tree(), expected);
    let paths: Vec<_> =
        recorder.named("invoke_node child").iter().map(|span| span.field("pleach.node.path").to_owned()).collect();
    assert_eq!(paths, ["wf@1/parent@1/child@1", "wf@1/parent@1/child@2"]);
    recorder.assert_over();
}

#[tokio::test]
async fn a_root_that_is_not_a_workflow_has_a_span_of_its_own() {
    let (recorder, _guard) = Recorder::start();
    finish(runner(FunctionNode::new("one", one)).run("ana", "s1", "go")).await;
    assert_eq!(recorder.tree(), "invoke_workflow one completed\n  invoke_node one completed\n");
}

#[tokio::test]
async fn attributes_follow_the_genai_conventions() {
    let (recorder, _guard) = Recorder::start();
    let mut wf = Workflow::builder("outer");
    let first = wf.node("one", one);
    let inner = wf.add(inner());
    let tool = wf.tool(add());
    wf.edge(START, first).edge(first.dynamic(), inner).edge(inner.dynamic(), tool);
    finish(runner(wf.build().unwrap()).run("ana", "s1", "go")).await;
    let fields = |name: &str| {
        let mut fields = recorder.one(name).fields;
        // One id is a hash, the other one is a counter.
        assert_eq!(fields.remove("pleach.trace_id").map(|id| id.len()).unwrap_or(32), 32);
        assert!(fields.remove("gcp.vertex.agent.invocation_id").unwrap().starts_with("e-"));
        if let Some(call) = fields.remove("gen_ai.tool.call.id") {
            assert!(call.starts_with("e-") && call.ends_with(":outer@1/add@1"), "{call}");
        }
        serde_json::to_value(fields).unwrap()
    };
    let root = json!({
        "otel.name": "invoke_workflow outer", "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "outer", "gen_ai.conversation.id": "s1", "pleach.resumed": "false",
        "pleach.outcome": "completed",
    });
    assert_eq!(fields("invoke_workflow outer"), root);
    let nested = json!({
        "otel.name": "invoke_workflow inner", "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "inner", "gen_ai.workflow.nested": "true", "gen_ai.conversation.id": "s1",
        "pleach.node.path": "outer@1/inner@1", "pleach.node.attempt": "1", "pleach.outcome": "completed",
    });
    assert_eq!(fields("invoke_workflow inner"), nested);
    let node = json!({
        "otel.name": "invoke_node again", "gen_ai.operation.name": "invoke_node", "gen_ai.conversation.id": "s1",
        "pleach.node.path": "outer@1/inner@1/again@1", "pleach.node.attempt": "1", "pleach.outcome": "completed",
    });
    assert_eq!(fields("invoke_node again"), node);
    let tool = json!({
        "otel.name": "execute_tool add", "gen_ai.operation.name": "execute_tool", "gen_ai.conversation.id": "s1",
        "gen_ai.tool.name": "add", "gen_ai.tool.description": "Adds one.", "gen_ai.tool.type": "function",
        "pleach.outcome": "completed",
    });
    assert_eq!(fields("execute_tool add"), tool);
}

#[tokio::test]
async fn spans_are_entered_only_while_their_runs_are_polled() {
    let (recorder, _guard) = Recorder::start();
    fn current() -> Option<&'static str> {
        Span::current().metadata().map(|metadata| metadata.name())
    }
    let body = async || {
        assert_eq!(current(), Some("invoke_node"));
        tokio::task::yield_now().await;
        assert_eq!(current(), Some("invoke_node"));
        Value::from(1)
    };
    let mut wf = Workflow::builder("wf");
    // The nodes take turns, and each finds its own span again.
    let (left, right) = (wf.node("left", body), wf.node("right", body));
    wf.edge(START, left).edge(START, right);
    let runner = runner(wf.build().unwrap());
    let mut run = runner.run("ana", "s1", "go");
    while run.next().await.is_some() {
        assert_eq!(current(), None);
        assert!(recorder.spans().iter().all(|span| span.entered == 0));
    }
    // The run has ended, although its value still exists.
    recorder.assert_over();
    drop(run);
}

#[tokio::test]
async fn the_span_of_the_caller_is_the_parent_of_the_invocation() {
    let (recorder, _guard) = Recorder::start();
    let run = runner(FunctionNode::new("one", one)).run("ana", "s1", "go");
    finish(run).instrument(info_span!("request")).await;
    let expected = "request\n  invoke_workflow one completed\n    invoke_node one completed\n";
    assert_eq!(recorder.tree(), expected);
    recorder.assert_over();
}
