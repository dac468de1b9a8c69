//! W11: how time grows with the input. The sender of messages, tool calls or files chooses their number and size: an operation
//! whose exponent is near 2 can be used to stop a service.

mod graphs;
mod histories;
mod services;
mod values;

use std::time::Duration;

use pleach::BoxError;

use super::Row;
use crate::measure::{Metric, Samples, micros};

/// The larger input has this many times the size of the smaller one.
const FACTOR: usize = 8;
/// How often each size is measured.
const SAMPLES: usize = 5;

pub(super) fn rows() -> Vec<Row> {
    [graphs::rows(), histories::rows(), services::rows(), values::rows()].into_iter().flatten().collect()
}

/// A row that measures `time`, which takes a size and prepares its own input untimed, at `size` and at [`FACTOR`] times of it.
fn growth(name: &str, size: usize, time: impl AsyncFn(usize) -> Result<Duration, BoxError> + 'static) -> Row {
    Row::new("W11", format!("{name},n={size}"), async move {
        let small = median(size, &time).await?;
        let large = median(size * FACTOR, &time).await?;
        let exponent = (large / small).log(FACTOR as f64);
        Ok(vec![
            Metric::micros("small_median", small),
            Metric::micros("large_median", large),
            Metric::exponent("exponent", exponent),
        ])
    })
}

async fn median(size: usize, time: &impl AsyncFn(usize) -> Result<Duration, BoxError>) -> Result<f64, BoxError> {
    let mut samples = Samples::default();
    for _ in 0..SAMPLES {
        samples.push(micros(time(size).await?));
    }
    Ok(samples.median())
}
