//! [`growth`]: a row that measures one operation at two sizes.

use std::time::Duration;

use pleach::BoxError;

use crate::measure::{Metric, Samples, micros};
use crate::row::Row;

/// The size of the larger input divided by the size of the smaller one.
const FACTOR: usize = 8;
/// The number of measurements of each size.
const SAMPLES: usize = 5;

/// A row that measures `time` at `size` and at [`FACTOR`] times `size`. `time` prepares its own input untimed.
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
