//! Graphs: chains, lanes, joins, routes, nesting, size.

use pleach::prelude::*;
use serde_json::Value;

use crate::support::{runner, stored, trace};

#[tokio::test]
async fn e1_a_chain_stores_one_event_per_node_and_the_last_is_the_workflows_output() {
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async |Input(text): Input<String>| text.to_uppercase());
    let b = wf.node("b", async |Input(text): Input<String>| format!("{text}!"));
    wf.edge(START, a).edge(a, b);
    let (runner, sessions) = runner(wf.build_to(b).unwrap());
    assert_eq!(runner.run("ana", "s1", "go").output::<String>().await.unwrap(), "GO!");
    assert_eq!(stored(&sessions).await, ["wf@1/a@1: \"GO\"", "wf@1/b@1: \"GO!\""]);
}

#[tokio::test]
async fn e100_lanes_run_on_sub_branches_and_the_join_comes_back_to_the_root() {
    let mut wf = Workflow::builder("wf");
    let (a, b) = (wf.node("a", async || 1), wf.node("b", async || 2));
    let both = wf.join("both", (a, b));
    wf.edge(START, (a, b));
    let (runner, _) = runner(wf.build_to(both).unwrap());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines, ["wf@1/a@1 [a@1]: 1", "wf@1/b@1 [b@1]: 2", "wf@1/both@1: {\"a\":1,\"b\":2}"]);
}

#[tokio::test]
async fn e106_without_a_join_the_successor_runs_once_per_lane() {
    let mut wf = Workflow::builder("wf");
    let (a, b) = (wf.node("a", async || 1), wf.node("b", async || 2));
    let z = wf.node("z", async |Input(n): Input<i64>| n * 10);
    wf.edge(START, (a, b)).edge(a, z).edge(b, z);
    let (runner, _) = runner(wf.build_to(z).unwrap());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines, ["wf@1/a@1 [a@1]: 1", "wf@1/b@1 [b@1]: 2", "wf@1/z@1 [a@1]: 10", "wf@1/z@2 [b@1]: 20"]);
}

#[tokio::test]
async fn e99_two_terminal_outputs_are_an_error_of_the_workflow() {
    let mut wf = Workflow::builder("wf");
    let (a, b) = (wf.node("a", async || 1), wf.node("b", async || 2));
    wf.edge(START, (a, b));
    let (runner, _) = runner(wf.build().unwrap());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert!(
        lines[2].starts_with("wf@1: WorkflowConfigurationError: Workflow wf: multiple terminal nodes"),
        "{lines:?}"
    );
    assert!(lines[3].starts_with("! WorkflowConfigurationError"), "{lines:?}");
}

#[tokio::test]
async fn e28_a_route_on_the_context_follows_the_output_in_an_event_of_its_own() {
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async |ctx: Context| {
        ctx.set_route("x");
        "P"
    });
    let x = wf.node("x", async |Input(text): Input<String>| text);
    wf.edge(START, a).route(a, "x", x);
    let (runner, _) = runner(wf.build().unwrap());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines, ["wf@1/a@1: \"P\"", "wf@1/a@1: route \"x\"", "wf@1/x@1: \"P\""]);
}

#[tokio::test]
async fn e29_pending_state_comes_first_and_output_with_route_last() {
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async |ctx: Context| -> Result<()> {
        ctx.state().set("k", 1)?;
        ctx.set_route("x");
        ctx.set_output("O")?;
        Ok(())
    });
    let x = wf.node("x", async || ());
    wf.edge(START, a).route(a, "x", x);
    let (runner, _) = runner(wf.build().unwrap());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines, ["wf@1/a@1: state {\"k\":1}", "wf@1/a@1: \"O\", route \"x\""]);
}

#[tokio::test]
async fn r645_a_nested_workflow_is_a_node_and_its_last_event_is_also_the_outer_output() {
    let mut inner = Workflow::builder("inner");
    let y = inner.node("y", async |Input(n): Input<i64>| n + 1);
    inner.edge(START, y);
    let mut outer = Workflow::builder("outer");
    let inner = outer.add(inner.build_to(y).unwrap());
    outer.edge(START, inner);
    let (runner, sessions) = runner(outer.build_to(inner).unwrap());
    assert_eq!(runner.run("ana", "s1", "41").output::<i64>().await.unwrap(), 42);
    let session = pleach::SessionService::get_session(&*sessions, &crate::support::key(), Default::default())
        .await
        .unwrap()
        .unwrap();
    let last = session.events.last().unwrap();
    assert_eq!(last.author(), "inner");
    let paths: Vec<&str> = last.node_info().output_for().unwrap().iter().map(|path| path.as_str()).collect();
    assert_eq!(paths, ["outer@1/inner@1/y@1", "outer@1/inner@1", "outer@1"]);
}

#[tokio::test]
async fn r605_a_workflow_without_edges_does_nothing() {
    let (runner, _) = runner(Workflow::builder("empty").build().unwrap());
    assert_eq!(runner.run("ana", "s1", "go").output::<Value>().await.unwrap(), Value::Null);
}

#[tokio::test]
async fn a_chain_of_edges_may_end_in_build_and_a_graph_is_built_once() {
    let mut wf = Workflow::builder("wf");
    let (a, b) = (wf.node("a", async || 1), wf.node("b", async |Input(n): Input<i64>| n + 1));
    let workflow = wf.edge(START, a).edge(a, b).build_to(b).unwrap();
    assert_eq!(runner(workflow).0.run("ana", "s1", "go").output::<i64>().await.unwrap(), 2);
    let error = wf.build().unwrap_err();
    assert_eq!((error.rule(), error.faults.len()), ("already_built", 1));
}

#[test]
fn r610_build_names_every_fault_at_once() {
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a-b", async || 1);
    let (b, _lost) = (wf.node("b", async || 2), wf.node("lost", async || 3));
    wf.edge(START, a).edge(a.dynamic(), b).edge(b, a.dynamic());
    let error = wf.build().unwrap_err();
    let rules: Vec<&str> = error.faults.iter().map(|fault| fault.rule).collect();
    assert_eq!(rules, ["invalid_name", "unreachable_node", "unconditional_cycle"]);
    assert!(error.to_string().contains("['lost']"), "{error}");
}

#[test]
fn r610_a_handle_of_another_workflow_is_a_fault() {
    let mut other = Workflow::builder("other");
    let foreign = other.node("x", async || 1);
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async || 1);
    wf.edge(START, a).edge(foreign, a.dynamic());
    assert_eq!(wf.build().unwrap_err().rule(), "foreign_handle");
}

#[test]
fn r628_a_typed_join_names_the_field_that_no_predecessor_outputs() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only the schema matters")]
    struct Both {
        a: i64,
        missing: i64,
    }
    let mut wf = Workflow::builder("wf");
    let (a, b) = (wf.node("a", async || 1), wf.node("b", async || 2));
    let both = wf.join_as::<Both>("both", (a, b));
    wf.edge(START, (a, b));
    let error = wf.build_to(both).unwrap_err();
    assert_eq!(error.rule(), "unknown_join_field");
    assert!(error.to_string().contains("'missing'"), "{error}");
}
