//! `test`: runs the quick tests, for use while working on a change.
//!
//! They need neither a server nor Python nor another process. `test-all` adds tests with Postgres, google-adk and
//! several processes, random workflows that are cut off after every event, programs that must not compile, and
//! documentation tests.

use crate::cargo::{cargo, succeeds};
use crate::tools::Need;

/// The integration tests that are quick.
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

/// Runs the tests whose names contain the filter, or all of them.
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
