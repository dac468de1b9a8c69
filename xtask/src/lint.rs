//! `lint`: runs clippy on every target of the workspace, with warnings as errors.

use crate::cargo::{cargo, succeeds};

pub(crate) fn run() -> anyhow::Result<bool> {
    succeeds(&mut cargo(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]))
}
