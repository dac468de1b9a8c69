//! Measurements and their printed form.

use std::borrow::Cow;
use std::io::{self, Write as _};

use pleach::BoxError;
use serde::{Deserialize, Serialize};

use crate::measure::Metric;

/// One line of the report.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Measurement {
    peer: Cow<'static, str>,
    workload: String,
    param: String,
    metric: String,
    value: f64,
    unit: String,
}

impl Measurement {
    pub(crate) fn new(workload: &str, param: &str, metric: Metric) -> Self {
        Self {
            peer: Cow::Borrowed(metric.peer),
            workload: workload.to_owned(),
            param: format!("{param}{}", metric.variant),
            metric: metric.name.to_owned(),
            value: metric.value,
            unit: metric.unit.to_owned(),
        }
    }
}

/// Prints measurements as they come, so that a long run shows its progress.
#[derive(Debug)]
pub(crate) struct Report {
    json: bool,
    row: Option<[String; 3]>,
}

impl Report {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, row: None }
    }

    /// Prints the name of a row.
    ///
    /// # Errors
    /// Standard output is closed.
    pub(crate) fn name(&self, row: &str) -> Result<(), BoxError> {
        Ok(writeln!(io::stdout().lock(), "{row}")?)
    }

    /// Prints one measurement.
    ///
    /// # Errors
    /// Standard output is closed.
    pub(crate) fn add(&mut self, measurement: &Measurement) -> Result<(), BoxError> {
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, measurement)?;
            writeln!(out)?;
        } else {
            let Measurement { peer, workload, param, metric, value, unit } = measurement;
            let row = Some([peer.to_string(), workload.clone(), param.clone()]);
            let [peer, workload, param] = if self.row == row { [""; 3] } else { [&**peer, workload, param] };
            writeln!(out, "{peer:<8}{workload:<4}{param:<37}{metric:<24}{:>12} {unit}", readable(*value))?;
            self.row = row;
        }
        out.flush()?;
        Ok(())
    }
}

/// Formats a value with three significant digits below a thousand, and as a whole number in groups of three above.
fn readable(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        size if size < 10.0 => 3,
        size if size < 100.0 => 2,
        size if size < 1_000.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    if decimals > 0 || value < 1_000.0 {
        return text;
    }
    let groups: Vec<&str> = text
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).expect("formatted digits are ASCII"))
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_members_of_the_contract_in_order() {
        let metric = Metric::micros("per_node_median", 0.5);
        let line = serde_json::to_string(&Measurement::new("W1", "N=10", metric)).unwrap();
        let expected =
            r#"{"peer":"pleach","workload":"W1","param":"N=10","metric":"per_node_median","value":0.5,"unit":"µs"}"#;
        assert_eq!(line, expected);
    }

    #[test]
    fn a_limit_is_a_peer_with_a_parameter_of_its_own() {
        let metric = Metric::per_second("rate", 9.0).of_limit(",1 trip");
        let line = serde_json::to_string(&Measurement::new("W5", "sqlite,1x2000", metric)).unwrap();
        let expected = concat!(
            r#"{"peer":"limit","workload":"W5","param":"sqlite,1x2000,1 trip","#,
            r#""metric":"rate","value":9.0,"unit":"events/s"}"#
        );
        assert_eq!(line, expected);
    }

    #[test]
    fn numbers_are_readable() {
        let texts = [0.0, 0.31234, 12.345, 999.96, 1_234_567.8].map(readable);
        assert_eq!(texts, ["0", "0.312", "12.35", "1000.0", "1,234,568"]);
    }
}
