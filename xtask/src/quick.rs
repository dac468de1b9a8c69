//! `test`: the tests to run while working on a change.
//!
//! They need no server, no Python and no other process. `test-all` adds Postgres, google-adk, several
//! processes, random workflows cut off after every event, programs that must not compile, and documentation tests.

use crate::cargo::{cargo, succeeds};
use crate::tools::Need;

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
    for variable in [Need::Postgres, Need::Adk].into_iter().flat_map(|need| need.describe().variables) {
        command.env_remove(variable);
    }
    succeeds(command.args(filter))
}
