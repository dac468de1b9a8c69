//! A Python with google-adk, with which tests compare what pleach stores.
//!
//! Owns finding one and making one, in a virtual environment in the target folder. Nothing else of the machine's Python
//! is touched, and no test needs it: without one they say SKIPPED.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

/// The variable that names a Python to use, and under which tests find theirs.
pub(crate) const PYTHON_VARIABLE: &str = "PLEACH_TEST_ADK_PYTHON";

/// The version whose behaviour is recorded in the golden files.
const VERSION: &str = "2.13.0";

/// Fails with what is missing, quicker than google-adk itself could be loaded.
const PROBE: &str = "\
import sys, importlib.metadata as m
import aiosqlite, asyncpg, sqlalchemy
found = m.version('google-adk')
sys.exit(None if found == sys.argv[1] else 'it has google-adk ' + found)";

/// Takes the Python given by the environment, or the one in the virtual environment below `target`, which is made when
/// it is not there or has another version.
///
/// # Errors
/// There is none and none can be made: no Python 3, no module `venv`, no way to the package index. The text names it.
pub(crate) fn obtain(target: &Path) -> anyhow::Result<PathBuf> {
    if let Some(given) = std::env::var_os(PYTHON_VARIABLE).filter(|given| !given.is_empty()) {
        let python = PathBuf::from(given);
        probe(&python).with_context(|| format!("the Python of {PYTHON_VARIABLE} does not fit"))?;
        return Ok(python);
    }
    let folder = target.join("adk-venv");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if probe(&python).is_err() {
        install(&folder, &python)?;
        probe(&python)?;
    }
    Ok(python)
}

fn install(folder: &Path, python: &Path) -> anyhow::Result<()> {
    println!("installing google-adk {VERSION} below {}", folder.display());
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    let package = format!("google-adk[db]=={VERSION}");
    // The limits are for machines without a network, which should not wait long for nothing.
    let pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", "--timeout", "15"];
    run(Command::new(python).args(pip).args([&package, "aiosqlite", "asyncpg"]))
}

fn probe(python: &Path) -> anyhow::Result<()> {
    run(Command::new(python).args(["-c", PROBE, VERSION]))
}

/// Runs a program quietly; an error carries the last line of what it said.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_which_program_and_its_last_words() {
        let missing = run(&mut Command::new("no-such-program")).expect_err("there is none");
        assert_eq!(missing.to_string(), "cannot run no-such-program");
        let wrong = run(Command::new(crate::cargo::program()).arg("--no-such-option")).expect_err("a wrong call");
        assert!(wrong.to_string().contains("cargo: "), "{wrong}");
        assert_eq!(wrong.to_string().lines().count(), 1);
    }
}
