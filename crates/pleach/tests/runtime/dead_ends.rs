//! Routes without an edge and joins that never run.

#![expect(clippy::type_complexity, reason = "tables of cases")]

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{DeadEnd, EdgeRoute, Node, NodeRef, RunEnd, RunRequest};

use crate::support::runner;

#[derive(Clone, Copy, Debug, Routes)]
enum Verdict {
    Ok,
    TooShort,
    #[route("manual review")]
    Review,
}

async fn check(Input(text): Input<String>) -> Output<String, Verdict> {
    let verdict = match text.len() {
        0..4 => Verdict::TooShort,
        4..9 => Verdict::Ok,
        _ => Verdict::Review,
    };
    Output::of(text).route(verdict)
}

async fn pass(Input(text): Input<String>) -> String {
    text
}

type CheckRef = NodeRef<String, String>;

fn messages(error: &BuildError) -> Vec<(&str, &str)> {
    error.faults.iter().map(|fault| (fault.rule, fault.message.as_str())).collect()
}

/// The dead ends of a detached run, and the text of the error when its output is read as a text.
async fn ends(runner: &Runner, request: RunRequest) -> (Vec<String>, String) {
    let mut run = runner.start(request).detach();
    (&mut run).await.unwrap();
    let ends = match run.end() {
        Some(RunEnd::DoneWithDeadEnds(ends)) => ends.iter().map(DeadEnd::to_string).collect(),
        Some(RunEnd::Done) => Vec::new(),
        other => panic!("{other:?}"),
    };
    (ends, run.output::<String>().await.unwrap_or_else(|error| error.to_string()))
}

#[test]
fn each_route_of_an_enum_needs_an_edge() {
    let mut wf = Workflow::builder("wf");
    let (check, publish) = (wf.node("check", check), wf.node("publish", pass));
    wf.edge(START, check).route(check, Verdict::Ok, publish);
    let error = wf.build().unwrap_err();
    let text = |route: &str| {
        format!("Node 'check' can choose route '{route}', which no edge takes: add an edge for it or a DEFAULT edge.")
    };
    let (short, review) = (text("too_short"), text("manual review"));
    assert_eq!(messages(&error), [("untaken_route", short.as_str()), ("untaken_route", review.as_str())]);
}

#[test]
fn routes_of_an_enum_are_covered_by_their_edges_a_default_a_plain_edge_or_no_edge_at_all() {
    let build = |edges: &dyn Fn(&mut pleach::WorkflowBuilder, CheckRef, NodeRef<String, String>)| {
        let mut wf = Workflow::builder("wf");
        let (check, publish) = (wf.node("check", check), wf.node("publish", pass));
        wf.edge(START, check);
        edges(&mut wf, check, publish);
        wf.build().map(drop)
    };
    build(&|wf, check, publish| {
        wf.route(check, [Verdict::Ok, Verdict::Review], publish).route(check, "too_short", check);
    })
    .unwrap();
    build(&|wf, check, publish| {
        wf.route(check, Verdict::Ok, check).route(check, DEFAULT, publish);
    })
    .unwrap();
    build(&|wf, check, publish| {
        wf.route(check, Verdict::Ok, check).edge(check, publish);
    })
    .unwrap();
    let mut wf = Workflow::builder("wf");
    let last = wf.node("check", self::check);
    wf.edge(START, last).build_to(last).unwrap();
}

#[test]
fn the_routes_of_results_and_streams_are_known() {
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async || -> Result<Output<i64, Verdict>> { Ok(Output::of(1).route(Verdict::Ok)) });
    let b = wf.node("b", async |Input(n): Input<i64>| futures::stream::iter([Output::of(n).route(Verdict::Ok)]));
    let end = wf.node("end", async |Input(n): Input<i64>| n);
    wf.edge(START, a).route(a, Verdict::Ok, b).route(b, "ok", end);
    let error = wf.build().unwrap_err();
    let nodes: Vec<&str> = error.faults.iter().map(|fault| &fault.message[..8]).collect();
    assert_eq!(nodes, ["Node 'a'", "Node 'a'", "Node 'b'", "Node 'b'"]);
}

#[tokio::test]
async fn a_variant_takes_its_edge() {
    let mut wf = Workflow::builder("wf");
    let (check, publish) = (wf.node("check", check), wf.node("publish", pass));
    let longer = wf.node("longer", async |Input(text): Input<String>| format!("{text}..."));
    wf.edge(START, check).route(check, [Verdict::Ok, Verdict::Review], publish);
    wf.route(check, Verdict::TooShort, longer).edge(longer, check);
    let (runner, _) = runner(wf.build_to(publish).unwrap());
    assert_eq!(runner.run("ana", "s1", "ab").output::<String>().await.unwrap(), "ab...");
    assert_eq!(ends(&runner, RunRequest::new(("ana", "s2")).message("a long text")).await.0, [""; 0]);
}

/// A Runner over a node that chooses the route of its input.
fn free() -> Runner {
    let mut wf = Workflow::builder("wf");
    let check = wf.node("check", async |Input(text): Input<String>| match text.as_str() {
        "none" => Output::of(text),
        _ => Output::of(text.clone()).route(text),
    });
    let publish = wf.node("publish", pass);
    wf.edge(START, check).route(check, "ok", publish);
    runner(wf.build_to(publish).unwrap()).0
}

#[tokio::test]
async fn a_text_route_without_an_edge_is_in_the_end_and_in_the_error_live_and_replayed() {
    let runner = free();
    let request = |text: &str| RunRequest::new(("ana", "s1")).message(text).invocation_id(format!("i-{}", text.len()));
    let text = "node 'check' of wf@1 chose route \"short\", which no edge takes: add an edge for it or a DEFAULT edge";
    let live = ends(&runner, request("short")).await;
    assert_eq!(live, (vec![text.to_owned()], format!("the run produced no output: {text}")));
    // The invocation has ended, so its result is replayed.
    assert_eq!(ends(&runner, request("short")).await, live);
    let text = "node 'check' of wf@1 chose no route, and all its edges need one: choose one or add a DEFAULT edge";
    assert_eq!(ends(&runner, request("none")).await.0, [text]);
    assert_eq!(ends(&runner, request("ok")).await, (vec![], "ok".to_owned()));
    let (long, _) = ends(&runner, request(&"x".repeat(10_000))).await;
    assert!(long[0].len() < 250, "{long:?}");
}

#[tokio::test]
async fn a_run_with_an_output_succeeds_despite_a_dead_end() {
    let mut wf = Workflow::builder("wf");
    let (a, b) = (wf.node("a", async || Output::of(1).route("nowhere")), wf.node("b", async || "out"));
    let lost = wf.node("lost", async || ());
    wf.edge(START, (a, b)).route(a, "x", lost);
    let (runner, _) = runner(wf.build().unwrap());
    let (ends, output) = ends(&runner, RunRequest::new(("ana", "s1")).message("go")).await;
    assert_eq!((ends.len(), output.as_str()), (1, "out"));
    let end = RunEnd::DoneWithDeadEnds(Vec::new());
    assert!(end.is_done() && RunEnd::Done.is_done() && !RunEnd::Waiting.is_done());
}

#[tokio::test]
async fn a_nested_workflow_reports_its_dead_ends_by_its_path() {
    let mut inner = Workflow::builder("inner");
    let (a, b) = (inner.node("a", async || Output::of(1).route("y")), inner.node("b", async || "b"));
    inner.edge(START, a).route(a, "x", b);
    let mut wf = Workflow::builder("wf");
    let inner = wf.add(inner.build_to(b).unwrap());
    wf.edge(START, inner);
    let (runner, _) = runner(wf.build_to(inner).unwrap());
    let error = runner.run("ana", "s1", "go").output::<String>().await.unwrap_err();
    let RunError::DeadEnd(ends) = &error else { panic!("{error:?}") };
    assert!(ends[0].to_string().starts_with("node 'a' of wf@1/inner@1 chose route \"y\""), "{error}");
    assert_eq!(error.code(), "ValidationError");
}

/// A join of `a` and `b`, which `choose` reaches by these routes.
fn joined(choose: impl Node, routes: [EdgeRoute; 2]) -> Result<Workflow<Dynamic, Dynamic>, BuildError> {
    let mut wf = Workflow::builder("wf");
    let choose = wf.add_dynamic(Arc::new(choose));
    let (a, b) = (wf.node("a", async || 1), wf.node("b", async || 2));
    let both = wf.join("both", (a, b));
    let [to_a, to_b] = routes;
    wf.edge(START, choose).route(choose, to_a, a).route(choose, to_b, b);
    wf.build_to(both)
}

fn free_choice() -> impl Node {
    FunctionNode::new("choose", async || Output::of(1).route("x"))
}

#[test]
fn a_join_of_routes_that_exclude_each_other_is_refused() {
    let text = "Join 'both' can never run: it waits for 'a' and 'b', but node 'choose' routes to only one of them. Use a \
                plain node instead of the join.";
    let error = joined(free_choice(), ["x".into(), DEFAULT]).err().unwrap();
    assert_eq!(messages(&error), [("idle_join", text)]);
    let typed = FunctionNode::new("choose", check);
    let error = joined(typed, [Verdict::Ok.into(), ["too_short", "manual review"].into()]).err().unwrap();
    assert_eq!(messages(&error), [("idle_join", text)]);
}

#[test]
fn a_join_that_may_run_is_built() {
    // One node may choose both routes.
    joined(free_choice(), ["x".into(), "y".into()]).unwrap();
    joined(free_choice(), [["x", "y"].into(), ["x", "z"].into()]).unwrap();
    // A node that runs again may choose the other route.
    let mut wf = Workflow::builder("wf");
    let (choose, a) = (wf.node("choose", async || Output::of(1).route("x")), wf.node("a", async || 1));
    let (b, c) = (wf.node("b", async || 2), wf.node("c", async || 3));
    let both = wf.join("both", (a, b));
    wf.edge(START, (choose, c)).edge(c, choose.dynamic()).route(choose, "x", a).route(choose, DEFAULT, b);
    wf.build_to(both).unwrap();
    // Either edge of a predecessor reaches the join.
    let mut wf = Workflow::builder("wf");
    let (a, b) = (wf.node("a", async || Output::of(1).route("x")), wf.node("b", async || 2));
    let both = wf.join("both", b);
    wf.edge(START, a).route(a, "x", b).route(a, "x", both).route(a, DEFAULT, both);
    wf.build_to(both).unwrap();
}

#[tokio::test]
async fn a_join_that_never_ran_names_its_missing_predecessors() {
    let runner = runner(joined(free_choice(), ["x".into(), "y".into()]).unwrap()).0;
    let text = "join 'both' of wf@1 did not run, because 'b' did not complete: join only nodes that always run";
    let request = RunRequest::new(("ana", "s1")).message("go").invocation_id("i");
    let live = ends(&runner, request.clone()).await;
    assert_eq!(live, (vec![text.to_owned()], format!("the run produced no output: {text}")));
    assert_eq!(ends(&runner, request).await, live);
}
