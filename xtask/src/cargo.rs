//! Runs cargo and other programs, and streams their output.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::report::Counts;

/// Returns the cargo that started this program, or the cargo on `PATH`.
pub(crate) fn program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

pub(crate) fn cargo<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(program());
    command.args(args);
    command
}

/// Runs a command to its end. Returns true if it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> anyhow::Result<bool> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    Ok(status.success())
}

/// Runs a command, passes its standard output on line by line, and adds up the test results that it reports.
pub(crate) fn counted(command: &mut Command) -> anyhow::Result<(bool, Counts)> {
    counted_with(command, |_| {})
}

/// Does the same as [`counted`], and also passes each line to `read`.
pub(crate) fn counted_with(command: &mut Command, mut read: impl FnMut(&str)) -> anyhow::Result<(bool, Counts)> {
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot run {command:?}"))?;
    let stdout = child.stdout.take().context("the child has no output")?;
    let mut counts = Counts::default();
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line?;
        let text = String::from_utf8_lossy(&line);
        println!("{text}");
        if let Some(found) = Counts::parse(&text) {
            counts.add(found);
        }
        read(&text);
    }
    Ok((child.wait()?.success(), counts))
}

/// Runs a program without showing its output. The error has the last line of the output.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {program}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stderr, output.stdout].map(|text| String::from_utf8_lossy(&text).into_owned());
    match said.iter().flat_map(|text| text.lines().rev()).find(|line| !line.trim().is_empty()) {
        Some(line) => bail!("{program}: {}", line.trim()),
        None => bail!("{program}: {}", output.status),
    }
}
