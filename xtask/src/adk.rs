//! A Python with google-adk, with which tests compare what pleach stores.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::python::{VirtualEnvironment, run};

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
    let environment = VirtualEnvironment::new(target.join("adk-venv"));
    let python = environment.program("python");
    if probe(&python).is_err() {
        environment.install(&[&format!("google-adk[db]=={VERSION}"), "aiosqlite", "asyncpg"])?;
        probe(&python)?;
    }
    Ok(python)
}

fn probe(python: &Path) -> anyhow::Result<()> {
    run(Command::new(python).args(["-c", PROBE, VERSION]))
}
