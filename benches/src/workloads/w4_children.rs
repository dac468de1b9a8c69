//! W4: one node that runs K children, one after the other or all at once.

use futures_util::future::try_join_all;
use pleach::BoxError;
use pleach::prelude::*;

use super::w1_chain::add_one;
use crate::measure::Metric;
use crate::row::Row;
use crate::runs::{Expected, Invocations};

pub(super) fn rows() -> Vec<Row> {
    let rows = |children: usize| {
        [
            Row::new("W4", format!("K={children},seq"), measure(children, in_sequence(children))),
            Row::new("W4", format!("K={children},conc"), measure(children, at_once(children))),
        ]
    };
    [100, 10_000].into_iter().flat_map(rows).collect()
}

async fn measure(children: usize, root: FunctionNode<i64, i64>) -> Result<Vec<Metric>, BoxError> {
    let expected = Expected { events: children + 1, output: children.into() };
    Invocations::new(root, expected)?.measure(children).await
}

/// Runs the children in sequence. Each takes the output of the child before it.
fn in_sequence(children: usize) -> FunctionNode<i64, i64> {
    let child = FunctionNode::new("child", add_one);
    let parent = move |ctx: Context, Input(mut number): Input<i64>| {
        let child = child.clone();
        async move {
            for _ in 0..children {
                number = ctx.run(&child, number).await?;
            }
            Ok::<_, NodeError>(number)
        }
    };
    FunctionNode::new("parent", parent).rerun_on_resume(true)
}

/// Runs the children at once with the same input. The parent adds up their outputs.
fn at_once(children: usize) -> FunctionNode<i64, i64> {
    let child = FunctionNode::new("child", add_one);
    let parent = move |ctx: Context, Input(number): Input<i64>| {
        let child = child.clone();
        async move {
            let numbers = try_join_all((0..children).map(|_| ctx.run(&child, number))).await?;
            Ok::<i64, NodeError>(numbers.into_iter().sum())
        }
    };
    FunctionNode::new("parent", parent).rerun_on_resume(true)
}
