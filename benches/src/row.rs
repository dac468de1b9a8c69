//! [`Row`]: one line of the tables of measurements.

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
    /// The reason why the row cannot be measured.
    pub(crate) skipped: Option<&'static str>,
    /// The future that measures the row. Nothing happens before it is polled.
    pub(crate) run: Measuring,
}

impl Row {
    pub(crate) fn new(
        workload: &'static str,
        param: impl Into<String>,
        run: impl Future<Output = Result<Vec<Metric>, BoxError>> + 'static,
    ) -> Self {
        Self { workload, param: param.into(), skipped: None, run: Box::pin(run) }
    }

    /// Skips the row if the backend is not available.
    pub(crate) fn on(self, backend: Backend) -> Self {
        Self { skipped: backend.missing(), ..self }
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("workload", &self.workload).field("param", &self.param).finish_non_exhaustive()
    }
}
