//! The workloads, one module each, and the table of their rows.

mod raw;
mod w10_inbox;
mod w11_growth;
mod w12_server;
mod w13_load;
mod w14_recovery;
mod w15_steps;
mod w1_chain;
mod w2_fan_out;
mod w3_loop;
mod w4_children;
mod w5_append;
mod w6_get;
mod w7_turn;
mod w8_resume;
mod w9_long_session;

use crate::row::Row;

/// All rows, in order.
pub(crate) fn all() -> Vec<Row> {
    let workloads: [fn() -> Vec<Row>; 15] = [
        w1_chain::rows,
        w2_fan_out::rows,
        w3_loop::rows,
        w4_children::rows,
        w5_append::rows,
        w6_get::rows,
        w7_turn::rows,
        w8_resume::rows,
        w9_long_session::rows,
        w10_inbox::rows,
        w11_growth::rows,
        w12_server::rows,
        w13_load::rows,
        w14_recovery::rows,
        w15_steps::rows,
    ];
    workloads.iter().flat_map(|rows| rows()).collect()
}
