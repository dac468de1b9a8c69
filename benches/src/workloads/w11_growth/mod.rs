//! W11: how time grows with the input. The sender of messages, tool calls or files chooses their number and size. So if
//! the exponent of an operation is near 2, a sender can stop a service with it.

mod graphs;
mod growth;
mod histories;
mod services;
mod values;

use crate::row::Row;

pub(super) fn rows() -> Vec<Row> {
    [graphs::rows(), histories::rows(), services::rows(), values::rows()].into_iter().flatten().collect()
}
