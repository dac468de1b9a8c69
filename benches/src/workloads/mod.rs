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

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use pleach::BoxError;

use crate::measure::Metric;
use crate::stores::Backend;

type Measuring = Pin<Box<dyn Future<Output = Result<Vec<Metric>, BoxError>>>>;

/// A workload with one parameter.
pub(crate) struct Row {
    pub(crate) workload: &'static str,
    pub(crate) param: String,
    /// Why it cannot be measured.
    pub(crate) skipped: Option<&'static str>,
    /// Measures it. Nothing happens before it is polled.
    pub(crate) run: Measuring,
}

impl Row {
    fn new(
        workload: &'static str,
        param: impl Into<String>,
        run: impl Future<Output = Result<Vec<Metric>, BoxError>> + 'static,
    ) -> Self {
        Self { workload, param: param.into(), skipped: None, run: Box::pin(run) }
    }

    /// Skipped when the backend is not there.
    fn on(self, backend: Backend) -> Self {
        Self { skipped: backend.missing(), ..self }
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("workload", &self.workload).field("param", &self.param).finish_non_exhaustive()
    }
}

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
