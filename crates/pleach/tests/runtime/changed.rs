//! Tests of workflows that were changed while an invocation waited. They must fail with a clear error before anything
//! runs, and must not be replayed wrongly.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pleach::prelude::*;
use pleach::{BoxFuture, Flow, History, InMemorySessionService, Node, NodeError, NodeInput, NodePath, NodeSpec};

use crate::support::{runner, trace};

/// The number of calls of all nodes since the workflow was changed.
type Calls = Arc<AtomicU32>;

fn counted(calls: &Calls, value: &'static str) -> impl Fn() -> std::future::Ready<Event> + Clone + Send + Sync + use<> {
    let calls = Arc::clone(calls);
    move || {
        calls.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Event::of(value).with_route(value))
    }
}

async fn ask() -> RequestInput {
    RequestInput::ask("q1", "Fine?")
}

/// START → first → (on "first") ask → last, with these names and this route.
fn workflow(
    calls: &Calls,
    root: &'static str,
    [first, ask_name, last]: [&'static str; 3],
    route: &'static str,
) -> Workflow {
    let mut wf = Workflow::builder(root);
    let begin = wf.node(first, counted(calls, "first"));
    let (question, end) = (wf.node(ask_name, ask), wf.node(last, counted(calls, "last")));
    wf.edge(START, begin.dynamic()).route(begin.dynamic(), route, question.dynamic());
    wf.edge(question.dynamic(), end.dynamic());
    wf.build().unwrap()
}

const NAMES: [&str; 3] = ["first", "ask", "last"];

async fn paused(root: impl Node) -> Arc<InMemorySessionService> {
    let (runner, sessions) = runner(root);
    trace(runner.run("ana", "s1", "go")).await;
    sessions
}

/// The trace of an answer that another workflow receives over the same sessions.
async fn answered(sessions: &Arc<InMemorySessionService>, root: impl Node) -> Vec<String> {
    let runner = Runner::builder("t").root(root).sessions(Arc::clone(sessions)).build().unwrap();
    trace(runner.answer("s1", "q1", true).unwrap()).await
}

#[tokio::test]
async fn a_node_that_is_gone_or_renamed_is_named_and_nothing_runs() {
    for (names, gone) in [(["first", "query", "last"], "ask"), (["begin", "ask", "last"], "first")] {
        let calls = Calls::default();
        let sessions = paused(workflow(&Calls::default(), "wf", NAMES, "first")).await;
        let lines = answered(&sessions, workflow(&calls, "wf", names, "first")).await;
        let expected = format!(
            "! WorkflowChangedError: Workflow 'wf' has changed since its run 'wf@1' was recorded: node '{gone}' has run, \
             but is no longer in the workflow. \
             Resume with the workflow that recorded it, or start a new invocation."
        );
        assert_eq!(lines, [expected]);
        assert_eq!(calls.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test]
async fn an_edge_that_no_longer_leads_there_is_named_and_nothing_runs() {
    let calls = Calls::default();
    let sessions = paused(workflow(&Calls::default(), "wf", NAMES, "first")).await;
    let lines = answered(&sessions, workflow(&calls, "wf", NAMES, "elsewhere")).await;
    let expected = "! WorkflowChangedError: Workflow 'wf' has changed since its run 'wf@1' was recorded: node 'ask' has run, \
                    but no edge leads to it any more along the recorded routes. \
                    Resume with the workflow that recorded it, or start a new invocation.";
    assert_eq!((lines, calls.load(Ordering::Relaxed)), (vec![expected.to_owned()], 0));
}

#[tokio::test]
async fn another_root_and_a_change_deep_inside_are_found_before_anything_runs() {
    let calls = Calls::default();
    let sessions = paused(workflow(&Calls::default(), "wf", NAMES, "first")).await;
    let lines = answered(&sessions, workflow(&calls, "other", NAMES, "first")).await;
    assert_eq!(
        lines,
        ["! WorkflowChangedError: The root node was 'wf' when this invocation was recorded, and is 'other' now. \
          Resume with that root, or start a new invocation."]
    );

    let nested = |calls: &Calls, names| {
        let mut outer = Workflow::builder("outer");
        let before = outer.node("before", counted(calls, "before"));
        let inner = outer.add(workflow(calls, "inner", names, "first"));
        outer.edge(START, before.dynamic()).edge(before.dynamic(), inner);
        outer.build().unwrap()
    };
    let sessions = paused(nested(&Calls::default(), NAMES)).await;
    let lines = answered(&sessions, nested(&calls, ["first", "query", "last"])).await;
    assert!(lines[0].contains("'inner' has changed since its run 'outer@1/inner@1'"), "{lines:?}");
    assert_eq!((lines.len(), calls.load(Ordering::Relaxed)), (1, 0));
}

/// The answer is stored, so the invocation continues with the original workflow.
#[tokio::test]
async fn the_old_workflow_continues_and_added_nodes_do_not_disturb_it() {
    let sessions = paused(workflow(&Calls::default(), "wf", NAMES, "first")).await;
    answered(&sessions, workflow(&Calls::default(), "wf", ["first", "query", "last"], "first")).await;
    let calls = Calls::default();
    let mut wf = Workflow::builder("wf");
    let (begin, extra) = (wf.node("first", counted(&calls, "first")), wf.node("extra", counted(&calls, "extra")));
    let (question, end) = (wf.node("ask", ask), wf.node("last", counted(&calls, "last")));
    wf.edge(START, begin.dynamic()).route(begin.dynamic(), "first", question.dynamic());
    wf.route(begin.dynamic(), "never", extra.dynamic()).edge(question.dynamic(), end.dynamic());
    let lines = answered(&sessions, wf.build().unwrap()).await;
    assert_eq!((lines, calls.load(Ordering::Relaxed)), (vec!["wf@1/last@1: \"last\", route \"last\"".to_owned()], 1));
}

/// Two versions of one workflow. The first one runs.
struct Versions([Workflow; 2]);

impl Node for Versions {
    fn spec(&self) -> &NodeSpec {
        self.0[0].spec()
    }

    fn run<'a>(&'a self, ctx: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
        self.0[0].run(ctx, input)
    }

    fn fits(&self, path: &NodePath, history: &History) -> Result<(), NodeError> {
        self.0.iter().try_for_each(|version| version.fits(path, history))
    }
}

/// Each graph is checked against values that it has read itself. Values of another graph, whose nodes have another
/// order, are not used.
#[tokio::test]
async fn r1010_each_graph_reads_its_own_runs() {
    let version = |swapped: bool| {
        let mut wf = Workflow::builder("wf");
        let nodes = |wf: &mut pleach::WorkflowBuilder| {
            (wf.node("add", async |Input(n): Input<i64>| n + 1), wf.node("ask", ask))
        };
        let (add, question) = if swapped {
            let question = wf.node("ask", ask);
            (wf.node("add", async |Input(n): Input<i64>| n + 1), question)
        } else {
            nodes(&mut wf)
        };
        let last = wf.node("last", async |ctx: Context| ctx.node_path().to_string());
        wf.edge(START, add).edge(add, question.dynamic()).edge(question.dynamic(), last.dynamic());
        wf.build().unwrap()
    };
    let (runner, sessions) = runner(version(false));
    trace(runner.run("ana", "s1", Message::data(1))).await;
    let lines = answered(&sessions, Versions([version(false), version(true)])).await;
    assert_eq!(lines, ["wf@1/last@1: \"wf@1/last@1\""]);
}

/// The recorded loop is gone, but every recorded node is still in the graph: only the replay finds the difference.
#[tokio::test]
async fn a_recorded_run_that_the_graph_does_not_reach_is_named() {
    let graph = |loops: bool| {
        let mut wf = Workflow::builder("wf");
        let a = wf.node("a", async |ctx: Context| {
            let route = if ctx.run_id() == "1" { "again" } else { "done" };
            Output::of(1).route(route)
        });
        let ask = wf.node("ask", async || RequestInput::<bool>::ask("q", "?"));
        wf.edge(START, a);
        if loops {
            wf.route(a, "again", a.dynamic()).route(a, "done", ask.dynamic())
        } else {
            wf.edge(a, ask.dynamic())
        };
        wf.build().unwrap()
    };
    let (before, sessions) = runner(graph(true));
    assert_eq!(trace(before.run("ana", "s1", "go")).await.len(), 3);
    let after = Runner::builder("t").root(graph(false)).sessions(sessions).build().unwrap();
    let error = after.answer("s1", "q", true).unwrap().output::<bool>().await.unwrap_err();
    assert_eq!(error.code(), "WorkflowInvariantError", "{error}");
    let text = "Replay divergence detected: history continues with 'wf@1/a@2', which this workflow does not reach.";
    assert_eq!(error.message(), text);
    assert!(
        error.to_string().ends_with(": resume with the workflow that recorded it, or start a new invocation"),
        "{error}"
    );
}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Order {
    size: u8,
}

/// `ask -> take`, where `take` fails on demand.
fn asks<T>(fails: bool) -> Workflow
where
    T: serde::de::DeserializeOwned + serde::Serialize + schemars::JsonSchema + Send + Sync + 'static,
{
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<T>::ask("q1", "?"));
    let take = wf.node("take", move |Input(value): Input<T>| async move {
        if fails { Err(Fail::msg("down")) } else { Ok(serde_json::to_value(value)?) }
    });
    wf.edge(START, ask).edge(ask, take);
    wf.build().unwrap()
}

/// The type of an answer was changed after the answer or while the question waits.
#[tokio::test]
async fn an_answer_of_a_changed_type_is_refused_with_the_remedy() {
    let sessions = paused(asks::<i64>(true)).await;
    let runner = |root: Workflow| Runner::builder("t").root(root).sessions(Arc::clone(&sessions)).build().unwrap();
    let order = || serde_json::json!({"size": 1});
    let end = "Nothing was stored and the question is still open; answer it again";
    let remedy = format!(
        "(the schema of the question differs from the schema of its node's answer type: if the type has changed since it was \
         asked, start a new invocation). {end}"
    );
    for (answer, wanted) in [(order(), "a whole number"), (5.into(), "struct Order")] {
        let lines = trace(runner(asks::<Order>(false)).answer("s1", "q1", answer).unwrap()).await;
        let text = format!("! WorkflowDataError: the answer to question 'q1' was refused: expected {wanted} {remedy}");
        assert_eq!(lines, [text]);
    }
    let unchanged = trace(runner(asks::<i64>(true)).answer("s1", "q1", order()).unwrap()).await;
    assert!(unchanged[0].ends_with(&format!("expected a whole number. {end}")), "{unchanged:?}");
    let answered = trace(runner(asks::<i64>(true)).answer("s1", "q1", 5).unwrap()).await;
    assert_eq!(answered.last().unwrap(), "! Exception: down");
    let session = sessions.get_session(&crate::support::key(), Default::default()).await.unwrap().unwrap();
    let id = session.events[0].invocation_id().clone();
    let resumed = trace(runner(asks::<Order>(false)).resume("ana", "s1", id.clone())).await;
    let text = "! WorkflowChangedError: Workflow 'wf' has changed since its run 'wf@1' was recorded: node 'ask' has run, but its \
                recorded answer does not fit its answer type any more (expected struct Order). Resume with the workflow that \
                recorded it, or start a new invocation.";
    assert_eq!(resumed, [text]);
    assert_eq!(trace(runner(asks::<i64>(false)).resume("ana", "s1", id)).await, ["wf@1/take@1: 5"]);
}
