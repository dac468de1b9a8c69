//! One trace across pause and resume.

use std::sync::{Arc, Mutex};

use pleach::prelude::*;
use pleach::telemetry::InvocationTrace;
use pleach::{InvocationId, SessionKey};
use tracing::Span;

use crate::recorder::Recorder;
use crate::support::{World, finish, runner};

async fn first() -> i64 {
    1
}

async fn ask() -> RequestInput {
    RequestInput::ask("ok", "Go on?")
}

async fn last(_: Input<String>) -> i64 {
    2
}

/// A question in a nested workflow, between nodes that run once.
fn asking() -> Workflow {
    let mut inner = Workflow::builder("inner");
    let (ask, last) = (inner.node("ask", ask), inner.node("last", last));
    inner.edge(START, ask).edge(ask.dynamic(), last);
    let mut wf = Workflow::builder("outer");
    let (first, inner) = (wf.node("first", first), wf.add(inner.build().unwrap()).dynamic());
    wf.edge(START, first).edge(first.dynamic(), inner);
    wf.build().unwrap()
}

#[tokio::test]
async fn a_resumed_invocation_belongs_to_the_trace_of_the_one_that_paused() {
    let world = World::new();
    let (before, guard) = Recorder::start();
    finish(world.runner(asking()).run("ana", "s1", "go")).await;
    drop(guard);
    let expected = "\
invoke_workflow outer interrupted
  invoke_node first completed
  invoke_workflow inner interrupted
    invoke_node ask interrupted
";
    assert_eq!(before.tree(), expected);
    before.assert_over();

    // In another process, only the stored session is shared.
    let (after, _guard) = Recorder::start();
    finish(world.runner(asking()).answer(("ana", "s1"), "ok", "yes").unwrap()).await;
    // Nodes that are answered from history do not run and have no span.
    let expected = "\
invoke_workflow outer completed
  invoke_workflow inner completed
    invoke_node last completed
";
    assert_eq!(after.tree(), expected);
    after.assert_over();
    let (before, after) = (before.one("invoke_workflow outer"), after.one("invoke_workflow outer"));
    for field in ["pleach.trace_id", "gcp.vertex.agent.invocation_id", "gen_ai.conversation.id"] {
        assert_eq!(before.field(field), after.field(field));
        assert!(!before.field(field).is_empty(), "{field}");
    }
    assert_eq!(before.field("pleach.questions"), "1");
    assert!(!after.fields.contains_key("pleach.questions"));
    assert_eq!((before.field("pleach.resumed"), after.field("pleach.resumed")), ("false", "true"));
}

#[tokio::test]
async fn r414_a_question_in_the_middle_of_a_body_pauses_its_span() {
    let world = World::new();
    let (recorder, _guard) = Recorder::start();
    let parent = async |ctx: Context| {
        let child = FunctionNode::new("child", async |ctx: Context| ctx.ask::<String>("ok", "?").await);
        ctx.run(&child.rerun_on_resume(true), ()).await
    };
    let root = || FunctionNode::new("parent", parent).rerun_on_resume(true);
    finish(world.runner(root()).run("ana", "s1", "go")).await;
    finish(world.runner(root()).answer(("ana", "s1"), "ok", "yes").unwrap()).await;
    let expected = "\
invoke_workflow parent interrupted
  invoke_node parent interrupted
    invoke_node child interrupted
invoke_workflow parent completed
  invoke_node parent completed
    invoke_node child completed
";
    assert_eq!(recorder.tree(), expected);
    recorder.assert_over();
}

#[tokio::test]
async fn r1025_a_failed_invocation_continues_in_its_trace_and_a_new_one_has_another() {
    let world = World::new();
    let (recorder, _guard) = Recorder::start();
    let fails = async || -> Result<i64, NodeError> { Err(NodeError::value("no")) };
    let root = || FunctionNode::new("bad", fails);
    let mut run = world.runner(root()).run("ana", "s1", "go");
    let invocation = run.next().await.unwrap().unwrap().invocation_id().clone();
    finish(run).await;
    let runner = world.runner(root());
    finish(runner.resume("ana", "s1", invocation)).await;
    finish(runner.run("ana", "s1", "go")).await;
    let spans = recorder.named("invoke_workflow bad");
    let traces: Vec<&str> = spans.iter().map(|span| span.field("pleach.trace_id")).collect();
    assert_eq!(traces[0], traces[1]);
    assert_ne!(traces[0], traces[2]);
    let resumed: Vec<&str> = spans.iter().map(|span| span.field("pleach.resumed")).collect();
    assert_eq!(resumed, ["false", "true", "false"]);
}

#[tokio::test]
async fn the_hook_sees_a_new_span_before_it_is_entered() {
    let world = World::new();
    let (recorder, _guard) = Recorder::start();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let runner = {
        let (seen, recorder) = (Arc::clone(&seen), recorder.clone());
        let hook = move |span: &Span, trace: &InvocationTrace| {
            assert_eq!(span.metadata().unwrap().name(), "invocation");
            assert_eq!(recorder.spans().last().unwrap().entered, 0);
            assert!(Span::current().is_none());
            seen.lock().unwrap().push(*trace);
        };
        world.builder(asking()).on_invocation_span(hook).build().unwrap()
    };
    let mut run = runner.run("ana", "s1", "go");
    let invocation = run.next().await.unwrap().unwrap().invocation_id().clone();
    finish(run).await;
    finish(runner.answer(("ana", "s1"), "ok", "yes").unwrap()).await;
    let key = SessionKey::new("t", "ana", "s1");
    let trace = |resumed| InvocationTrace::new(&key, &invocation, resumed);
    assert_eq!(*seen.lock().unwrap(), [trace(false), trace(true)]);
    for span in recorder.named("invoke_workflow outer") {
        assert_eq!(span.field("pleach.trace_id"), trace(true).trace_id_hex());
    }
}

#[tokio::test]
async fn a_run_that_is_refused_has_no_span() {
    let (recorder, _guard) = Recorder::start();
    finish(runner(asking()).resume("ana", "s1", InvocationId::from("e-nobody"))).await;
    assert_eq!(recorder.tree(), "");
}
