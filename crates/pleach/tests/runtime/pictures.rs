//! Pictures of a run, drawn from its stored events.

use pleach::prelude::*;
use pleach::{Node as _, RetryConfig, dot_of_run, mermaid_of_run};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::{key, runner, trace};

#[tokio::test]
async fn a_picture_of_a_run_shows_status_runs_attempts_and_time() {
    let tries = AtomicU32::new(0);
    let flaky = move || {
        let first = tries.fetch_add(1, Ordering::Relaxed) == 0;
        async move { if first { Err(NodeError::new("Flaky", "once")) } else { Ok("fine") } }
    };
    let mut inner = Workflow::builder("inner");
    let ask = inner.node("ask", async || RequestInput::<bool>::ask("q1", "Fine?"));
    inner.edge(START, ask.dynamic());
    let mut wf = Workflow::builder("wf");
    let flaky = wf.add(FunctionNode::new("flaky", flaky).retry(RetryConfig::attempts(3)));
    let (inner, never) = (wf.add(inner.build().unwrap()), wf.node("never", async || 1));
    wf.edge(START, flaky.dynamic()).edge(flaky.dynamic(), inner).edge(inner, never.dynamic());
    let wf = wf.build().unwrap();
    let outline = wf.outline();
    let (runner, sessions) = runner(wf);
    trace(runner.run("ana", "s1", "go")).await;

    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let invocation = session.events[0].invocation_id().clone();
    let picture = mermaid_of_run(&outline, &session.events, &invocation);
    for line in [
        "  n_0[\"flaky<br/>done, 1 failed attempt, 1.000 s\"]\n  style n_0 fill:#c8e6c9\n",
        "  subgraph n_1[\"inner<br/>waiting, 0.000 s\"]\n",
        "    n_1_0[\"ask<br/>waiting, 0.000 s\"]\n    style n_1_0 fill:#fff3c4\n",
        "  n_2[\"never\"]\n  n_start --> n_0\n",
    ] {
        assert!(picture.contains(line), "{line}in\n{picture}");
    }
    let picture = dot_of_run(&outline, &session.events, &invocation);
    let ask = "n_1_0 [label=\"ask\\nwaiting, 0.000 s\", style=\"rounded,filled\", fillcolor=\"#fff3c4\"]\n";
    assert!(picture.contains(ask), "{picture}");
}
