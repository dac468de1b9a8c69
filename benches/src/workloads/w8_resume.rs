//! W8: a chain of M nodes, followed by a node that asks a person. It measures the run up to the question, and the run
//! that answers the question. For comparison it also measures loading the session alone, which is the store's part.

use std::time::Duration;

use pleach::prelude::*;
use pleach::{BoxError, GetSessionConfig, NodeRef, SessionId, SessionKey};

use super::w1_chain::add_one;
use crate::measure::{Metric, now, sample};
use crate::row::Row;
use crate::stores::Backend;

const QUESTION: &str = "approval";

pub(super) fn rows() -> Vec<Row> {
    let rows = |backend: Backend| {
        [10, 100, 1_000, 10_000].map(|nodes| {
            let param = format!("M={nodes},{}", backend.name());
            Row::new("W8", param, measure(backend, nodes)).on(backend)
        })
    };
    Backend::ALL.into_iter().flat_map(rows).collect()
}

async fn measure(backend: Backend, nodes: usize) -> Result<Vec<Metric>, BoxError> {
    let store = backend.open().await?;
    let runner = Runner::builder("bench").root(asking(nodes)?).sessions(store.sessions.clone()).build()?;
    let mut started = 0;
    let [first_run, load, resume] = sample(async || {
        started += 1;
        once(&runner, SessionId::from(format!("s{started}")), nodes).await
    })
    .await?;
    Ok(vec![
        Metric::micros("first_run_median", first_run.median()),
        Metric::micros("load_median", load.median()),
        Metric::micros("resume_median", resume.median()),
    ])
}

async fn once(runner: &Runner, session: SessionId, nodes: usize) -> Result<[Duration; 3], BoxError> {
    let key = SessionKey::new("bench", "ana", session.clone());
    let start = now();
    let waiting = runner.run("ana", session.clone(), Message::data(0)).output::<i64>().await;
    let first_run = start.elapsed();
    let Err(RunError::Waiting(_)) = waiting else {
        return Err(format!("the run did not wait: {waiting:?}").into());
    };
    let start = now();
    let loaded = runner.sessions().get_session(&key, GetSessionConfig::all()).await?;
    let load = start.elapsed();
    drop(loaded);
    let start = now();
    let run = runner.answer(("ana", session.clone()), QUESTION, true)?;
    let output = run.output::<usize>().await?;
    let resume = start.elapsed();
    if output != nodes {
        return Err(format!("the resumed run gave {output} instead of {nodes}").into());
    }
    runner.sessions().delete_session(&key).await?;
    Ok([first_run, load, resume])
}

fn asking(nodes: usize) -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("approval_chain");
    let ask = wf.add(FunctionNode::new("ask", ask).rerun_on_resume(true));
    let mut last: Option<NodeRef<i64, i64>> = None;
    for index in 0..nodes {
        let node = wf.node(format!("n{index}"), add_one);
        match last {
            Some(last) => wf.edge(last, node),
            None => wf.edge(START, node),
        };
        last = Some(node);
    }
    match last {
        Some(last) => wf.edge(last, ask),
        None => wf.edge(START, ask),
    };
    wf.build()
}

/// Asks, and runs again from its start when the answer has come.
async fn ask(ctx: Context, Input(number): Input<i64>) -> Result<i64> {
    let approved: bool = ctx.ask(QUESTION, "Go on?").await?;
    Ok(if approved { number } else { 0 })
}
