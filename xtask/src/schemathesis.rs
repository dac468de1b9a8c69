//! Schemathesis, which checks the server against its own OpenAPI document.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::python::{VirtualEnvironment, run};

/// The variable that names a program to use, and under which a test finds its own.
pub(crate) const PROGRAM_VARIABLE: &str = "PLEACH_TEST_SCHEMATHESIS";

/// The version that the test is written for.
const VERSION: &str = "4.32.5";

/// Takes the program given by the environment, or the one in the virtual environment below `target`, which is made when it is not there or
/// has another version.
///
/// # Errors
/// There is none and none can be made: no Python 3, no module `venv`, no way to the package index. The text names it.
pub(crate) fn obtain(target: &Path) -> anyhow::Result<PathBuf> {
    if let Some(given) = std::env::var_os(PROGRAM_VARIABLE).filter(|given| !given.is_empty()) {
        let program = PathBuf::from(given);
        run(Command::new(&program).arg("--version"))
            .with_context(|| format!("the program of {PROGRAM_VARIABLE} does not fit"))?;
        return Ok(program);
    }
    let environment = VirtualEnvironment::new(target.join("schemathesis-venv"));
    let program = environment.program("schemathesis");
    if !has_version(&program) {
        environment.install(&[&format!("schemathesis=={VERSION}")])?;
        ensure!(has_version(&program), "pip has installed another version");
    }
    Ok(program)
}

fn has_version(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(VERSION))
}
