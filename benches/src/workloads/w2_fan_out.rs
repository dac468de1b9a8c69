//! W2: one node, K branches, a join and a last node.

use pleach::prelude::*;
use pleach::{BoxError, NodeInput};

use super::w1_chain::add_one;
use crate::measure::Metric;
use crate::row::Row;
use crate::runs::{Expected, Invocations};

pub(super) fn rows() -> Vec<Row> {
    let row = |branches: usize| Row::new("W2", format!("K={branches}"), measure(branches));
    [10, 100, 1_000, 10_000].map(row).into()
}

async fn measure(branches: usize) -> Result<Vec<Metric>, BoxError> {
    let expected = Expected { events: branches + 3, output: branches.into() };
    Invocations::new(fan_out(branches)?, expected)?.measure(branches).await
}

fn fan_out(branches: usize) -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("fan_out");
    let first = wf.node("first", add_one);
    let branches: Vec<_> = (0..branches).map(|index| wf.node(format!("b{index}"), add_one)).collect();
    let joined = wf.join("joined", branches.clone());
    let end = wf.node("end", count);
    wf.edge(START, first).edge(first, branches).edge(joined, end);
    wf.build()
}

/// Reads the joined map without copying it.
async fn count(Input(joined): Input<NodeInput>) -> usize {
    joined.value().and_then(|joined| joined.as_object()).map_or(0, |joined| joined.len())
}
