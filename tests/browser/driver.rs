//! [`Driver`]: the chromedriver of one test.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, bail};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// The text before the port in the driver's output.
const STARTED: &str = "was started successfully on port ";

/// A chromedriver. It ends with the test, together with its browser.
pub(crate) struct Driver {
    pub(crate) url: String,
    _process: Child,
    /// The output, which is kept open because the driver writes to it.
    _output: Lines<BufReader<ChildStdout>>,
}

impl Driver {
    /// Starts the program on a port of its choice.
    pub(crate) async fn start(program: &Path) -> anyhow::Result<Self> {
        let mut process = Command::new(program)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut output = BufReader::new(process.stdout.take().context("the driver has no output")?).lines();
        while let Some(line) = output.next_line().await? {
            if let Some((_, port)) = line.split_once(STARTED) {
                let url = format!("http://127.0.0.1:{}", port.trim_end_matches('.'));
                return Ok(Self { url, _process: process, _output: output });
            }
        }
        bail!("the driver has ended without a port")
    }
}
