//! Building and running large workflows.

use std::time::Duration;

use pleach::prelude::*;
use pleach::{BoxError, Node as _, NodeError, NodeInput, ParallelWorker, mermaid};

use super::growth::growth;
use crate::measure::now;
use crate::row::Row;
use crate::workloads::w1_chain::add_one;

pub(super) fn rows() -> Vec<Row> {
    vec![
        growth("build_chain", 500, async |nodes| {
            let begin = now();
            chain(nodes)?;
            Ok(begin.elapsed())
        }),
        growth("build_star", 500, async |nodes| {
            let begin = now();
            star(nodes)?;
            Ok(begin.elapsed())
        }),
        growth("build_edges", 400, async |edges| {
            let begin = now();
            layers(edges)?;
            Ok(begin.elapsed())
        }),
        growth("picture", 500, async |nodes| {
            let outline = star(nodes)?.outline();
            let begin = now();
            std::hint::black_box(mermaid(&outline));
            Ok(begin.elapsed())
        }),
        growth("run_edges", 400, async |edges| run::<i64>(layers(edges)?, 0.into()).await),
        growth("run_star", 500, async |nodes| run::<usize>(star(nodes)?, 0.into()).await),
        growth("run_keys", 500, async |keys| run::<usize>(sets_keys(keys)?, 0.into()).await),
        growth("run_adds", 500, async |nodes| run::<usize>(adds(nodes)?, 0.into()).await),
        growth("run_items", 500, async |items| {
            let items: Vec<usize> = (0..items).collect();
            run::<Vec<i64>>(over_items()?, serde_json::to_value(items)?).await
        }),
    ]
}

async fn run<T: serde::de::DeserializeOwned>(root: Workflow, input: serde_json::Value) -> Result<Duration, BoxError> {
    let runner = Runner::builder("bench").root(root).build()?;
    let begin = now();
    runner.run("ana", "s", Message::data(input)).output::<T>().await?;
    Ok(begin.elapsed())
}

fn chain(nodes: usize) -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("chain");
    let nodes: Vec<_> = (0..nodes).map(|index| wf.node(format!("n{index}"), add_one)).collect();
    wf.edge(START, nodes[0]);
    for pair in nodes.windows(2) {
        wf.edge(pair[0], pair[1]);
    }
    wf.build()
}

/// A node, `branches` nodes after it, and a join of them.
fn star(branches: usize) -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("star");
    let first = wf.node("first", add_one);
    let branches: Vec<_> = (0..branches).map(|index| wf.node(format!("b{index}"), add_one)).collect();
    let joined = wf.join("joined", branches.clone());
    let end = wf.node("end", async |Input(joined): Input<NodeInput>| {
        joined.value().and_then(|joined| joined.as_object()).map_or(0, |joined| joined.len())
    });
    wf.edge(START, first).edge(first, branches).edge(joined, end);
    wf.build()
}

/// Two layers with about `edges` edges between them: each node of the first layer has an edge to each join of the second.
fn layers(edges: usize) -> Result<Workflow, BuildError> {
    let width = edges.isqrt();
    let mut wf = Workflow::builder("layers");
    let first: Vec<_> = (0..width).map(|index| wf.node(format!("a{index}"), add_one)).collect();
    wf.edge(START, first.clone());
    let joins: Vec<_> = (0..width).map(|index| wf.join(format!("j{index}"), first.clone())).collect();
    let all = wf.join("all", joins);
    let end = wf.node("end", async |Input(_): Input<NodeInput>| 0_i64);
    wf.edge(all, end);
    wf.build()
}

/// A node that sets `keys` keys and reads each back.
fn sets_keys(keys: usize) -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("keys");
    let node = wf.node("set", move |ctx: Context, Input(_): Input<i64>| async move {
        let mut read = 0;
        for key in 0..keys {
            ctx.state().set(format!("key{key}"), key)?;
            read += usize::from(ctx.state().get::<usize>(&format!("key{key}"))? == key);
        }
        Ok::<_, NodeError>(read)
    });
    wf.edge(START, node);
    wf.build()
}

/// `branches` parallel nodes that add to one key before any of their events is stored.
fn adds(branches: usize) -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("adds");
    let add = async |ctx: Context| ctx.state().add("sum", 1).map(|()| 1);
    let branches: Vec<_> = (0..branches).map(|index| wf.node(format!("b{index}"), add)).collect();
    let joined = wf.join("joined", branches.clone());
    let end = wf.node("end", async |ctx: Context| ctx.state().get::<usize>("sum"));
    wf.edge(START, branches).edge(joined, end);
    wf.build()
}

fn over_items() -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("items");
    let worker = wf.add(ParallelWorker::new(FunctionNode::new("add", add_one)).max_workers(4));
    wf.edge(START, worker);
    wf.build()
}
