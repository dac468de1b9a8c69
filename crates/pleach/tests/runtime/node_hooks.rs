//! The hooks of plugins around every node.

use std::sync::{Arc, Mutex};

use pleach::prelude::*;
use pleach::{BoxError, Hook, InMemorySessionService, Node, NodeInput, NodeSpec, Plugin, RunRequest};
use pleach_contract::{CountedIds, TestClock};
use serde_json::{Value, json};

use crate::support::{key, stored, trace};

/// A plugin that records the calls of its hooks and acts as the name of a node says.
#[derive(Clone, Debug, Default)]
struct Spy(Arc<Mutex<Vec<String>>>);

impl Spy {
    fn note(&self, hook: &str, ctx: &Context, what: impl std::fmt::Display) {
        self.0.lock().unwrap().push(format!("{hook} {}: {what}", ctx.node_path()));
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Plugin for Spy {
    fn name(&self) -> &str {
        "spy"
    }

    fn before_node<'a>(
        &'a self,
        node: &'a NodeSpec,
        ctx: &'a Context,
        input: &'a NodeInput,
    ) -> Hook<'a, Option<Value>> {
        Some(Box::pin(async move {
            tokio::task::yield_now().await;
            self.note("before", ctx, input.content().map_or_else(|| input.to_value().to_string(), Content::text));
            match node.name.as_str() {
                "cached" => Ok(Some(json!("from the cache"))),
                "marked" => ctx.state().set("before", 1).map(|()| None).map_err(BoxError::from),
                "refused" => Err("not now".into()),
                _ => Ok(None),
            }
        }))
    }

    fn after_node<'a>(&'a self, node: &'a NodeSpec, ctx: &'a Context, output: Option<&'a Value>) -> Hook<'a, ()> {
        Some(Box::pin(async move {
            tokio::task::yield_now().await;
            self.note("after", ctx, output.unwrap_or(&Value::Null));
            match node.name.as_str() {
                "marked" => ctx.state().set("after", 2).map_err(BoxError::from),
                "loud" => Err("ignored".into()),
                _ => Ok(()),
            }
        }))
    }

    fn on_node_error<'a>(&'a self, _: &'a NodeSpec, ctx: &'a Context, error: &'a NodeError) -> Hook<'a, ()> {
        Some(Box::pin(async move {
            tokio::task::yield_now().await;
            self.note("error", ctx, format_args!("{} (attempt {})", error.message(), ctx.attempt_count()));
            Err("ignored".into())
        }))
    }
}

fn spied(root: impl Node) -> (Runner, Arc<InMemorySessionService>, Spy) {
    let (sessions, spy) = (Arc::new(InMemorySessionService::new()), Spy::default());
    let builder = Runner::builder("t").root(root).sessions(Arc::clone(&sessions)).plugin(spy.clone());
    (builder.clock(TestClock::skipping()).ids(CountedIds::new()).build().unwrap(), sessions, spy)
}

#[tokio::test]
async fn the_hooks_surround_every_node_that_runs() {
    let mut wf = Workflow::builder("wf");
    let marked = wf.node("marked", async || 1);
    let calls = FunctionNode::new("calls", async |ctx: Context, Input(n): Input<i64>| -> Result<i64> {
        Ok(ctx.run(&FunctionNode::new("child", async |Input(n): Input<i64>| n + 1), n).await?)
    });
    let calls = wf.add(calls.rerun_on_resume(true));
    wf.edge(START, marked).edge(marked, calls);
    let (runner, sessions, spy) = spied(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(
        spy.take(),
        [
            "before wf@1: go",
            "before wf@1/marked@1: go",
            "after wf@1/marked@1: 1",
            "before wf@1/calls@1: 1",
            "before wf@1/calls@1/child@1: 1",
            "after wf@1/calls@1/child@1: 2",
            "after wf@1/calls@1: 2",
            "after wf@1: 2",
        ]
    );
    assert_eq!(stored(&sessions).await[0], r#"wf@1/marked@1: 1, state {"after":2,"before":1}"#);
    // A repeated message is answered from history.
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let id = session.events[0].invocation_id().clone();
    trace(runner.start(RunRequest::new(key()).invocation_id(id).message("go"))).await;
    assert_eq!(spy.take(), [] as [&str; 0]);
}

#[tokio::test]
async fn a_value_from_before_node_is_the_output_and_stays_it_on_a_resume() {
    let mut inner = Workflow::builder("inner");
    let cached = inner.node("cached", async || -> Result<String> { Err(Fail::msg("the body does not run")) });
    let inner_end = inner.node("next", async |Input(text): Input<String>| text.len());
    inner.edge(START, cached).edge(cached, inner_end);
    let mut wf = Workflow::builder("wf");
    let inner = wf.add(inner.build().unwrap());
    let ask = wf.node("ask", async || RequestInput::<bool>::ask("q1", "Fine?"));
    let done = wf.node("done", async |Input(yes): Input<bool>| yes);
    wf.edge(START, inner).edge(inner, ask.dynamic()).edge(ask, done);
    let (runner, sessions, spy) = spied(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(
        spy.take(),
        [
            "before wf@1: go",
            "before wf@1/inner@1: go",
            "before wf@1/inner@1/cached@1: go",
            r#"before wf@1/inner@1/next@1: "from the cache""#,
            "after wf@1/inner@1/next@1: 14",
            "after wf@1/inner@1: 14",
            "before wf@1/ask@1: 14",
        ]
    );
    trace(runner.answer("s1", "q1", true).unwrap()).await;
    assert_eq!(spy.take(), ["before wf@1/done@1: true", "after wf@1/done@1: true", "after wf@1: true"]);
    assert_eq!(stored(&sessions).await[0], r#"wf@1/inner@1/cached@1: "from the cache""#);
}

#[tokio::test]
async fn every_failed_attempt_and_every_node_that_fails_with_it_is_reported() {
    let mut wf = Workflow::builder("wf");
    let fails = FunctionNode::new("fails", async || -> Result<i64> { Err(Fail::msg("broken")) });
    let fails = wf.add(fails.retry(RetryConfig { max_attempts: 2, initial_delay: 0.0, ..RetryConfig::default() }));
    wf.edge(START, fails);
    let (runner, _, spy) = spied(wf.build().unwrap());
    assert_eq!(trace(runner.run("ana", "s1", "go")).await.last().unwrap(), "! Exception: broken");
    assert_eq!(
        spy.take(),
        [
            "before wf@1: go",
            "before wf@1/fails@1: go",
            "error wf@1/fails@1: broken (attempt 1)",
            "before wf@1/fails@1: go",
            "error wf@1/fails@1: broken (attempt 2)",
            "error wf@1: broken (attempt 1)",
        ]
    );
}

#[tokio::test]
async fn panics_and_time_limits_are_failures_as_well() {
    let (runner, _, spy) = spied(FunctionNode::new("panics", async || -> i64 { panic!("boom") }));
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(spy.take(), ["before panics@1: go", "error panics@1: the node panicked: boom (attempt 1)"]);
    let slow = FunctionNode::new("slow", async || std::future::pending::<i64>().await);
    let (runner, _, spy) = spied(slow.timeout(std::time::Duration::ZERO));
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(spy.take()[1], "error slow@1: Node 'slow' timed out after 0.0 seconds. (attempt 1)");
}

#[tokio::test]
async fn a_failing_before_node_fails_the_node_and_a_failing_notification_does_not() {
    let (runner, _, spy) = spied(FunctionNode::new("refused", async || 1));
    let error = "Error in plugin 'spy' during 'before_node_callback' callback: not now";
    assert_eq!(trace(runner.run("ana", "s1", "go")).await.last().unwrap(), &format!("! RuntimeError: {error}"));
    assert_eq!(spy.take(), ["before refused@1: go".to_owned(), format!("error refused@1: {error} (attempt 1)")]);
    let (runner, _, spy) = spied(FunctionNode::new("loud", async || 1));
    assert_eq!(trace(runner.run("ana", "s1", "go")).await, ["loud@1: 1"]);
    assert_eq!(spy.take(), ["before loud@1: go", "after loud@1: 1"]);
}

#[tokio::test]
async fn a_stream_has_ended_when_its_last_item_is_stored() {
    let items =
        FunctionNode::new("items", async || futures::stream::iter([Event::message("first"), Event::of(json!(2))]));
    let (runner, sessions, spy) = spied(items);
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(spy.take(), ["before items@1: go", "after items@1: 2"]);
    assert_eq!(stored(&sessions).await, ["items@1: says first", "items@1: 2"]);
}

#[tokio::test]
async fn agents_are_nodes() {
    let agent = LlmAgent::builder("helper").model(ScriptedModel::saying("Hello.")).build().unwrap();
    let (runner, _, spy) = spied(agent);
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(spy.take(), ["before helper@1: go", "after helper@1: null"]);
}

#[tokio::test]
async fn a_node_that_waits_has_not_ended() {
    let model = ScriptedModel::saying("Which city?").then_call("finish_task", json!({"result": "Oslo"}));
    let task = LlmAgent::builder("task").mode(pleach::AgentMode::Task).model(model).build().unwrap();
    let model = ScriptedModel::calling("task", json!({"request": "ask"})).then_text("done");
    let root = LlmAgent::builder("root").model(model).sub_agent(task).build().unwrap();
    let (runner, _, spy) = spied(root);
    trace(runner.run("ana", "s1", "go")).await;
    let ended = |notes: Vec<String>| notes.iter().filter(|note| note.starts_with("after ")).count();
    assert_eq!(ended(spy.take()), 0);
    trace(runner.run("ana", "s1", "Oslo")).await;
    assert_eq!(ended(spy.take()), 2);
}
