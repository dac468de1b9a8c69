//! Measures a row in a process of its own.

use std::process::{Command, Stdio};

use pleach::BoxError;

use crate::report::Measurement;
use crate::row::Row;

/// Runs this program again for one row and reads what it prints.
///
/// # Errors
/// The process could not be started, failed, or printed a line that is not a measurement.
pub(crate) fn measure(row: &Row) -> Result<Vec<Measurement>, BoxError> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--only", row.workload, "--row", &row.param, "--json"])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("its process ended with {}", output.status).into());
    }
    let lines = String::from_utf8(output.stdout)?;
    lines.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}
