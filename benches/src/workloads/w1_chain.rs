//! W1: a chain of N function nodes. Each returns its input + 1.

use pleach::prelude::*;
use pleach::{BoxError, NodeRef};

use crate::measure::Metric;
use crate::row::Row;
use crate::runs::{Expected, Invocations};

pub(super) fn rows() -> Vec<Row> {
    let row = |nodes: usize| Row::new("W1", format!("N={nodes}"), measure(nodes));
    [1, 10, 100, 1_000, 10_000].map(row).into()
}

async fn measure(nodes: usize) -> Result<Vec<Metric>, BoxError> {
    let expected = Expected { events: nodes, output: nodes.into() };
    Invocations::new(chain(nodes)?, expected)?.measure(nodes).await
}

pub(super) fn chain(nodes: usize) -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("chain");
    let mut last: Option<NodeRef<i64, i64>> = None;
    for index in 0..nodes {
        let node = wf.node(format!("n{index}"), add_one);
        match last {
            Some(last) => wf.edge(last, node),
            None => wf.edge(START, node),
        };
        last = Some(node);
    }
    wf.build()
}

pub(super) async fn add_one(Input(number): Input<i64>) -> i64 {
    number + 1
}
