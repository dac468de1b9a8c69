//! Tests of workflows that are far larger than real ones, on the small stack of a test thread. They run live and, if a
//! resume executes other code, also resumed.

use std::sync::Arc;

use futures::future::try_join_all;
use pleach::prelude::*;
use pleach::{
    CreateSession, FunctionCall, FunctionResponse, Map, Node, Part, RunOptions, SessionError, SessionServiceExt,
    StateOp,
};
use serde_json::{Value, json};

use crate::support::runner;

async fn ask() -> RequestInput<bool> {
    RequestInput::ask("more", "Go on?")
}

/// Runs up to the question, answers it and returns the output.
async fn through_the_question<T: serde::de::DeserializeOwned>(root: impl Node) -> T {
    let (runner, _) = runner(root);
    let waiting = runner.run("ana", "s1", "0").output::<Value>().await;
    assert!(matches!(waiting, Err(RunError::Waiting(_))), "{waiting:?}");
    runner.answer("s1", "more", true).unwrap().output().await.unwrap()
}

#[tokio::test]
async fn r621_a_chain_of_10_000_nodes_runs_and_is_replayed() {
    let mut wf = Workflow::builder("wf");
    let nodes: Vec<_> = (0..10_000).map(|i| wf.node(format!("n{i}"), async |Input(n): Input<i64>| n + 1)).collect();
    let (ask, last) = (wf.node("ask", ask), wf.node("last", async || 1));
    wf.edge(START, nodes[0]).edge(nodes[9_999], ask).edge(ask, last);
    for pair in nodes.windows(2) {
        wf.edge(pair[0], pair[1]);
    }
    assert_eq!(through_the_question::<i64>(wf.build().unwrap()).await, 1);
}

#[tokio::test]
async fn r626_a_fan_out_of_10_000_nodes_ends_in_one_join_and_is_replayed() {
    let mut wf = Workflow::builder("wf");
    let lane = |i: usize| {
        move || async move {
            tokio::task::yield_now().await;
            i
        }
    };
    let lanes: Vec<_> = (0..10_000).map(|i| wf.node(format!("lane{i}"), lane(i))).collect();
    let all = wf.join("all", lanes.clone());
    let (ask, last) = (wf.node("ask", ask), wf.node("last", async |Input(n): Input<Dynamic>| n.0));
    let both = wf.join("both", (all, ask));
    wf.edge(START, lanes).edge(all, ask).edge(both, last);
    let joined: Value = through_the_question(wf.build().unwrap()).await;
    assert_eq!(joined["all"].as_object().unwrap().len(), 10_000);
    assert_eq!(joined["all"]["lane9999"], json!(9_999));
}

#[tokio::test]
async fn r645_workflows_100_deep_run_and_are_replayed() {
    let mut root = Workflow::builder("w0");
    let (ask, leaf) = (root.node("ask", ask), root.node("leaf", async || 7));
    root.edge(START, ask).edge(ask, leaf);
    let mut nested = root.build_to(leaf).unwrap();
    for depth in 1..100 {
        let mut wf = Workflow::builder(format!("w{depth}"));
        let inner = wf.add(nested);
        wf.edge(START, inner);
        nested = wf.build_to(inner).unwrap();
    }
    assert_eq!(through_the_question::<i64>(nested).await, 7);
}

#[tokio::test]
async fn r701_dynamic_children_100_deep_run_and_are_replayed() {
    let mut node: Arc<dyn Node> = Arc::new(FunctionNode::new("n0", ask));
    for depth in 1..100 {
        let below = node;
        let run = move |ctx: Context| {
            let below = below.clone();
            async move {
                let output = ctx.run_node(&*below, Value::Null, RunOptions::default()).await?;
                Ok::<_, NodeError>(Dynamic(output.into_value()))
            }
        };
        node = Arc::new(FunctionNode::new(format!("n{depth}"), run).rerun_on_resume(true));
    }
    assert!(through_the_question::<bool>(node).await);
}

#[tokio::test]
async fn r624_a_loop_of_100_000_rounds_runs() {
    let mut wf = Workflow::builder("wf");
    let count = wf.node("count", async |Input(n): Input<i64>| Output::of(n + 1).route(n + 1 == 100_000));
    let done = wf.node("done", async |Input(n): Input<i64>| n);
    wf.edge(START, count).route(count, false, count).route(count, true, done);
    assert_eq!(runner(wf.build_to(done).unwrap()).0.run("ana", "s1", "0").output::<i64>().await.unwrap(), 100_000);
}

#[tokio::test]
async fn r1020_10_000_dynamic_children_are_replayed() {
    let child = FunctionNode::new("child", async |Input(n): Input<i64>| n);
    let parent = move |ctx: Context| {
        let child = child.clone();
        async move {
            let given = try_join_all((0..10_000).map(|n| ctx.run(&child, n))).await?;
            let more: bool = ctx.ask("more", "Go on?").await?;
            Ok::<_, NodeError>((more, given.into_iter().sum::<i64>()))
        }
    };
    let parent = FunctionNode::new("parent", parent).rerun_on_resume(true);
    assert_eq!(through_the_question::<(bool, i64)>(parent).await, (true, 49_995_000));
}

/// Workflows nested in each other, with this many levels.
fn nested_workflows(levels: usize) -> Result<Workflow, pleach::BuildError> {
    let mut root = Workflow::builder("w0");
    let leaf = root.node("leaf", async || 7);
    root.edge(START, leaf);
    let mut nested = root.build()?;
    for level in 1..levels {
        let mut wf = Workflow::builder(format!("w{level}"));
        let inner = wf.add(nested);
        wf.edge(START, inner);
        nested = wf.build()?;
    }
    Ok(nested)
}

#[tokio::test]
async fn workflows_nested_too_deep_are_a_fault_of_the_graph() {
    let deepest = nested_workflows(128).unwrap();
    assert_eq!(runner(deepest).0.run("ana", "s1", "0").output::<i64>().await.unwrap(), 7);
    let refused = nested_workflows(129).unwrap_err();
    assert_eq!(refused.faults[0].rule, "nested_too_deep");
}

#[tokio::test]
async fn a_node_that_runs_its_own_workflow_fails_with_a_typed_error() {
    let whole: Arc<std::sync::OnceLock<Workflow>> = Arc::default();
    let below = Arc::downgrade(&whole);
    let again = FunctionNode::new("again", move |ctx: Context| {
        let whole = below.upgrade().unwrap();
        async move {
            let output = ctx.run_node(whole.get().unwrap(), Value::Null, RunOptions::default()).await;
            output.map(|output| Dynamic(output.into_value()))
        }
    });
    let mut wf = Workflow::builder("wf");
    let again = wf.add(again.rerun_on_resume(true));
    wf.edge(START, again);
    assert!(whole.set(wf.build().unwrap()).is_ok());
    let root = Arc::clone(&whole);
    let root = FunctionNode::new("root", move |ctx: Context| {
        let root = Arc::clone(&root);
        async move {
            let output = ctx.run_node(root.get().unwrap(), Value::Null, RunOptions::default()).await;
            output.map(|output| Dynamic(output.into_value()))
        }
    });
    let error = runner(root.rerun_on_resume(true)).0.run("ana", "s1", "go").output::<Value>().await.unwrap_err();
    assert_eq!(error.code(), "RecursionError");
}

fn nested_value(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| Value::Object([("a".to_owned(), inner)].into_iter().collect()))
}

fn nested_map(levels: usize) -> Map {
    [("a".to_owned(), nested_value(levels))].into_iter().collect()
}

#[derive(serde::Serialize)]
struct Chain(Option<Box<Chain>>);

const DEEP: usize = 10_000;

async fn refused(node: impl Node) {
    let error = runner(node).0.run("ana", "s1", "go").output::<Value>().await.unwrap_err();
    assert_eq!(error.code(), "ValidationError", "{error}");
}

#[tokio::test]
async fn values_nested_too_deep_are_refused_wherever_a_node_produces_them() {
    refused(FunctionNode::new("n", async || nested_value(DEEP))).await;
    refused(FunctionNode::new("n", async || Dynamic(nested_value(DEEP)))).await;
    refused(FunctionNode::new("n", async || Output::of(nested_value(DEEP)).route("x"))).await;
    refused(FunctionNode::new("n", async || Event::new().with_output(nested_value(DEEP)))).await;
    refused(FunctionNode::new("n", async || (0..DEEP).fold(Chain(None), |chain, _| Chain(Some(Box::new(chain))))))
        .await;
    refused(FunctionNode::new("n", async |ctx: Context| ctx.set_output(nested_value(DEEP)))).await;
    refused(FunctionNode::new("n", async |ctx: Context| ctx.emit(pleach::Yield::Output(nested_value(DEEP))).await))
        .await;
    refused(FunctionNode::new("n", async |ctx: Context| ctx.state().set("k", nested_value(DEEP)))).await;
    refused(FunctionNode::new("n", async |ctx: Context| ctx.state().update(nested_map(DEEP)))).await;
    refused(FunctionNode::new("n", async |ctx: Context| {
        ctx.with_actions(|actions| actions.set_state("k", nested_value(DEEP)))
    }))
    .await;
    refused(FunctionNode::new("n", async || Event::new().with_state("k", nested_value(DEEP)))).await;
    refused(FunctionNode::new("n", async || Event::new().with_state_op("k", StateOp::Push(vec![nested_value(DEEP)]))))
        .await;
    refused(FunctionNode::new("n", async || Event::new().with_custom_metadata(nested_map(DEEP)))).await;
    refused(FunctionNode::new("n", async || {
        Event::message(Part::function_call(FunctionCall::new("1", "f", nested_map(DEEP))))
    }))
    .await;
    refused(FunctionNode::new("n", async || {
        Event::message(Part::function_response(FunctionResponse::new("1", "f", nested_map(DEEP))))
    }))
    .await;
    refused(FunctionNode::new("n", async || RequestInput::<Value>::ask("q", "?").with_payload(nested_value(DEEP))))
        .await;
    refused(FunctionNode::new("n", async || RequestInput::<Value>::ask("q", "?").with_schema(nested_value(DEEP))))
        .await;
    let child = FunctionNode::new("child", async |Input(v): Input<Dynamic>| v);
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let child = child.clone();
        async move { ctx.run_node(&child, nested_value(DEEP), RunOptions::default()).await.map(drop) }
    });
    refused(parent.rerun_on_resume(true)).await;
}

#[tokio::test]
async fn values_nested_too_deep_are_refused_by_the_services() {
    let (runner, sessions) = runner(FunctionNode::new("n", async || 1));
    let request = CreateSession::new("t", "ana").with_state(nested_map(DEEP));
    assert!(matches!(sessions.create_session(request).await, Err(SessionError::Unstorable { .. })));
    let mut session = sessions.create_session(CreateSession::new("t", "ana")).await.unwrap();
    for event in [
        Event::message("x").with_custom_metadata(nested_map(DEEP)),
        Event::message("x").with_state("k", nested_value(DEEP)),
        Event::message("x").with_state_op("k", StateOp::Push(vec![nested_value(DEEP)])),
    ] {
        let refused = sessions.append_event(&mut session, event).await;
        assert!(matches!(refused, Err(SessionError::Unstorable { .. })), "{refused:?}");
    }
    let response = FunctionResponse::new("1", "f", nested_map(DEEP));
    let refused = runner.run("ana", "s1", Part::function_response(response)).output::<Value>().await.unwrap_err();
    assert!(matches!(&refused, RunError::Answer { id, .. } if id == "1"), "{refused:?}");
}

/// Without optimisation, a level of nested workflows takes about 6 KB of stack, so 128 levels fit. If bodies need more
/// stack, the stack limit is reached first.
#[tokio::test]
async fn nested_workflows_that_use_up_the_stack_fail_with_a_typed_error() {
    let mut node: Arc<dyn Node> = Arc::new(nested_workflows(120).unwrap());
    // The body uses a part of the stack, as a large handler does.
    for level in 0..20 {
        let below = node;
        let large = move |ctx: Context| {
            let below = below.clone();
            async move {
                let room = std::hint::black_box([0_u8; 60_000]);
                let output = ctx.run_node(&*below, Value::Null, RunOptions::default()).await?;
                Ok::<_, NodeError>(Dynamic(json!([output.into_value(), room[0]])))
            }
        };
        node = Arc::new(FunctionNode::new(format!("n{level}"), large).rerun_on_resume(true));
    }
    let error = runner(node).0.run("ana", "s1", "go").output::<Value>().await.unwrap_err();
    assert_eq!(error.code(), "RecursionError");
}
