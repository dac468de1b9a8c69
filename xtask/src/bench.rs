//! `bench`: the benchmark program, built in release mode, with the arguments given.

use anyhow::Context as _;

use crate::cargo::{cargo, succeeds};
use crate::workspace::Workspace;

const PACKAGE: &str = "pleach-benches";

pub(crate) fn run(args: &[String]) -> anyhow::Result<bool> {
    Workspace::load()?.package(PACKAGE).with_context(|| format!("this workspace has no package `{PACKAGE}`"))?;
    let mut command = cargo(["run", "--release", "-q", "-p", PACKAGE, "--bin", "bench", "--"]);
    succeeds(command.args(args))
}
