//! google-adk, in a Python process that plays scenarios.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::recorded::order;
use crate::normalise::{Errors, normalise};

/// The environment variable with the path of a Python that has google-adk.
const PYTHON: &str = "PLEACH_TEST_ADK_PYTHON";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python/play_trees.py");
/// The version of google-adk in the recordings.
const VERSION: &str = "2.13.0";

/// A running google-adk.
#[derive(Debug)]
pub struct Reference {
    process: Child,
    scenarios: Option<ChildStdin>,
    traces: BufReader<ChildStdout>,
}

impl Reference {
    /// Starts google-adk with the Python that `PLEACH_TEST_ADK_PYTHON` names. Returns `None` if the variable is not set.
    ///
    /// # Errors
    /// google-adk does not start, or it has another version.
    pub fn start() -> anyhow::Result<Option<Self>> {
        let Some(python) = std::env::var_os(PYTHON).filter(|python| !python.is_empty()) else { return Ok(None) };
        let mut command = Command::new(python);
        command.arg(SCRIPT).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().with_context(|| format!("cannot run {SCRIPT}"))?;
        let scenarios = process.stdin.take();
        let traces = BufReader::new(process.stdout.take().context("standard output is a pipe")?);
        let mut this = Self { process, scenarios, traces };
        let found = this.line()?;
        ensure!(found["google_adk"] == VERSION, "the recordings are of google-adk {VERSION}, and this is {found}");
        Ok(Some(this))
    }

    /// Plays a scenario and returns its trace in the normal form.
    ///
    /// # Errors
    /// The scenario is wrong, or the process has ended.
    pub fn played(&mut self, scenario: &Value) -> anyhow::Result<Value> {
        let mut line = scenario.to_string();
        line.push('\n');
        self.scenarios.as_mut().context("the process takes scenarios")?.write_all(line.as_bytes())?;
        let trace = self.line()?;
        if let Some(fault) = trace.get("fault") {
            bail!("{}: {fault}", scenario["name"]);
        }
        Ok(normalise(&trace, order(scenario), Errors::Full)?)
    }

    fn line(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        self.traces.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("google-adk answers {line:?}"))
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // At the end of its input the process ends.
        drop(self.scenarios.take());
        // The exit status is irrelevant, because the traces have arrived.
        let _ = self.process.wait();
    }
}
