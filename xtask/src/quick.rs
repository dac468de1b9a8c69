//! `test`: the tests to run while working on a change.
//!
//! They need no server, no Python and no other process. What is left to `test-all`: Postgres, google-adk, several
//! processes, random workflows cut off after every event, programs that must not compile, and documentation tests.

use crate::adk::PYTHON_VARIABLE;
use crate::cargo::{cargo, succeeds};
use crate::postgres::URL_VARIABLE;

/// The integration tests among them.
const TARGETS: &[&str] = &[
    "runtime",
    "spans",
    "connect",
    "contract",
    "file",
    "services",
    "inmemory",
    "recorded",
    "validate",
    "state_rules",
    "golden",
    "docs",
    "server",
    "testkit",
];

/// Runs them, or those whose names contain the filter.
pub(crate) fn run(filter: &[String]) -> anyhow::Result<bool> {
    let mut command = cargo(["test", "-q", "--workspace", "--all-features", "--no-fail-fast", "--lib", "--bins"]);
    for target in TARGETS {
        command.args(["--test", target]);
    }
    succeeds(command.args(filter).env_remove(URL_VARIABLE).env_remove(PYTHON_VARIABLE))
}
