//! W11: the growth of time with the input. The sender of messages, tool calls or files chooses their number and size, so an
//! operation whose exponent is near 2 can be used to stop a service.

mod graphs;
mod growth;
mod histories;
mod services;
mod values;

use crate::row::Row;

pub(super) fn rows() -> Vec<Row> {
    [graphs::rows(), histories::rows(), services::rows(), values::rows()].into_iter().flatten().collect()
}
