//! `docs`: rustdoc of every crate, with warnings as errors.

use crate::cargo::{cargo, succeeds};

pub(crate) fn run() -> anyhow::Result<bool> {
    let mut command = cargo(["doc", "--workspace", "--all-features", "--no-deps"]);
    succeeds(command.env("RUSTDOCFLAGS", "-D warnings"))
}
