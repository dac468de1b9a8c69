//! [`growth`]: a row that measures one operation at two sizes.

use std::time::Duration;

use pleach::BoxError;

use crate::measure::{Metric, Samples, micros};
use crate::row::Row;

/// The larger input has this many times the size of the smaller one.
const FACTOR: usize = 8;
/// How often each size is measured.
const SAMPLES: usize = 5;

/// A row that measures `time`, which takes a size and prepares its own input untimed, at `size` and at [`FACTOR`] times of it.
pub(super) fn growth(
    name: &str,
    size: usize,
    time: impl AsyncFn(usize) -> Result<Duration, BoxError> + 'static,
) -> Row {
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
