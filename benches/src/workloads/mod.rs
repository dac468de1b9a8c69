//! The workloads, one module each, and the table of their rows. W7 and W9 need a model and are not here yet.

mod raw;
mod w10_inbox;
mod w11_growth;
mod w1_chain;
mod w2_fan_out;
mod w3_loop;
mod w4_children;
mod w5_append;
mod w6_get;
mod w8_resume;

use crate::row::Row;

/// Every row, in order.
pub(crate) fn all() -> Vec<Row> {
    let workloads: [fn() -> Vec<Row>; 9] = [
        w1_chain::rows,
        w2_fan_out::rows,
        w3_loop::rows,
        w4_children::rows,
        w5_append::rows,
        w6_get::rows,
        w8_resume::rows,
        w10_inbox::rows,
        w11_growth::rows,
    ];
    workloads.iter().flat_map(|rows| rows()).collect()
}
