//! The clock, samples, and the metrics that are made from samples.

use std::time::{Duration, Instant};

use pleach::BoxError;

/// The maximum number of samples of a row. Rows that take longer than [`TIME_LIMIT`] have fewer.
const MAX_SAMPLES: usize = 200;
/// The minimum number of samples of a row, however long they take.
const MIN_SAMPLES: usize = 5;
/// The time for sampling a row, including the untimed parts.
const TIME_LIMIT: Duration = Duration::from_secs(1);
/// The maximum number of untimed runs before the first sample.
const WARM_UP_RUNS: usize = 50;
const WARM_UP_TIME: Duration = Duration::from_millis(200);

/// One number of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Metric {
    /// The runtime that was measured: pleach, or the limit.
    pub(crate) peer: &'static str,
    /// The part or variant of the row that was measured, if it is not the row itself. It is printed after the row's parameter.
    pub(crate) variant: &'static str,
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
}

impl Metric {
    fn new(name: &'static str, value: f64, unit: &'static str) -> Self {
        Self { peer: "pleach", variant: "", name, value, unit }
    }

    /// Marks the metric as a measurement of the database driver alone. `variant` names the way in which the driver does
    /// the work.
    pub(crate) fn of_limit(self, variant: &'static str) -> Self {
        Self { peer: "limit", variant, ..self }
    }

    /// A time in microseconds.
    pub(crate) fn micros(name: &'static str, value: f64) -> Self {
        Self::new(name, rounded(value), "µs")
    }

    /// A rate of pleach divided by the rate of the limit.
    pub(crate) fn ratio(name: &'static str, value: f64) -> Self {
        Self::new(name, rounded(value), "×")
    }

    /// How time grows with size, as an exponent: 1 is proportional, 2 is quadratic.
    pub(crate) fn exponent(name: &'static str, value: f64) -> Self {
        Self::new(name, rounded(value), "")
    }

    /// A number of events per second.
    pub(crate) fn per_second(name: &'static str, value: f64) -> Self {
        Self::rate(name, value, "events/s")
    }

    /// A number per second, in this unit.
    pub(crate) fn rate(name: &'static str, value: f64, unit: &'static str) -> Self {
        Self::new(name, value.round(), unit)
    }

    pub(crate) fn count(name: &'static str, value: usize) -> Self {
        Self::new(name, value as f64, "count")
    }

    /// The peak memory of this process in RAM so far.
    ///
    /// # Errors
    /// The system does not report it (`/proc/self/status` has no `VmHWM`).
    pub(crate) fn peak_rss() -> Result<Self, BoxError> {
        Ok(Self::mebibytes("peak_rss", memory("VmHWM")?))
    }

    /// An amount of memory in mebibytes.
    pub(crate) fn mebibytes(name: &'static str, value: f64) -> Self {
        Self::new(name, rounded(value), "MiB")
    }
}

/// The memory of this process that is in RAM now, in mebibytes.
///
/// # Errors
/// The system does not report it (`/proc/self/status` has no `VmRSS`).
pub(crate) fn rss() -> Result<f64, BoxError> {
    memory("VmRSS")
}

fn memory(name: &str) -> Result<f64, BoxError> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib = kib.ok_or_else(|| format!("no {name} in /proc/self/status"))?;
    Ok(kib.trim().parse::<f64>()? / 1024.0)
}

/// Rounds to nanoseconds, the resolution of the clock. More digits would be noise.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

/// The current time of the clock.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time, not an invocation's")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Takes samples of `N` times each by calling `once` after a warm-up: 200 samples, or as many as fit into a second.
///
/// # Errors
/// The first error of `once`.
pub(crate) async fn sample<const N: usize>(
    mut once: impl AsyncFnMut() -> Result<[Duration; N], BoxError>,
) -> Result<[Samples; N], BoxError> {
    let begin = now();
    for _ in 0..WARM_UP_RUNS {
        once().await?;
        if begin.elapsed() > WARM_UP_TIME {
            break;
        }
    }
    let mut samples = [(); N].map(|()| Samples::default());
    let begin = now();
    while samples[0].0.len() < MAX_SAMPLES && (samples[0].0.len() < MIN_SAMPLES || begin.elapsed() < TIME_LIMIT) {
        for (samples, time) in samples.iter_mut().zip(once().await?) {
            samples.0.push(micros(time));
        }
    }
    Ok(samples)
}

/// Numbers whose order does not matter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn extend(&mut self, values: impl IntoIterator<Item = f64>) {
        self.0.extend(values);
    }

    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The value below which this share of the samples lies; 0 without samples.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples() {
        let mut samples = Samples::default();
        assert_eq!(samples.median(), 0.0);
        samples.extend([9.0, 1.0, 5.0]);
        assert_eq!((samples.median(), samples.quantile(0.99), samples.quantile(0.0)), (5.0, 9.0, 1.0));
    }

    #[test]
    fn a_process_has_used_memory() {
        assert!(Metric::peak_rss().unwrap().value > 0.1);
    }
}
