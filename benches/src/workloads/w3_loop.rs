//! W3: two nodes in a cycle, which a route ends. A round is two node runs. One more node returns the result.

use pleach::BoxError;
use pleach::prelude::*;

use super::w1_chain::add_one;
use crate::measure::Metric;
use crate::row::Row;
use crate::runs::{Expected, Invocations};

pub(super) fn rows() -> Vec<Row> {
    let row = |rounds: usize| Row::new("W3", format!("rounds={rounds}"), measure(rounds));
    [50, 500].map(row).into()
}

async fn measure(rounds: usize) -> Result<Vec<Metric>, BoxError> {
    let node_runs = 2 * rounds;
    let expected = Expected { events: node_runs + 1, output: node_runs.into() };
    Invocations::new(cycle(rounds)?, expected)?.measure(node_runs).await
}

fn cycle(rounds: usize) -> Result<Workflow, BuildError> {
    let last = 2 * rounds as i64;
    let mut wf = Workflow::builder("cycle");
    let step = wf.node("step", add_one);
    let decide = wf.node("decide", move |Input(number): Input<i64>| async move {
        let number = number + 1;
        Output::of(number).route(if number < last { "again" } else { "done" })
    });
    let end = wf.node("end", |Input(number): Input<i64>| async move { number });
    wf.edge(START, step).edge(step, decide).route(decide, "again", step).route(decide, "done", end);
    wf.build()
}
