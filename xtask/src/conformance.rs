//! `conformance`: plays the recorded scenarios with the programs of `pleach-tests`.

use std::ffi::OsStr;
use std::process::Command;

use anyhow::Context as _;

use crate::cargo::{cargo, counted, succeeds};
use crate::report::Counts;
use crate::workspace::Workspace;

const PACKAGE: &str = "pleach-tests";

/// The packages that are built. They determine the features of their common dependencies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Build {
    /// Only the test package, which is the quickest.
    Package,
    /// The same packages as `cargo test --workspace --all-features`, to reuse that build.
    Workspace,
    /// Only the test package, with JSON maps that keep the order of insertion. A user's build may turn on this feature.
    PreserveOrder,
}

pub(crate) fn run(args: &[String]) -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    Ok(play(&workspace, Build::Package, Vec::new(), args)?.0)
}

/// Builds the programs and plays the scenarios. The variables may name a Postgres server. Returns false if a scenario
/// fails.
pub(crate) fn play(
    workspace: &Workspace,
    build: Build,
    variables: Vec<(&str, &OsStr)>,
    args: &[String],
) -> anyhow::Result<(bool, Counts)> {
    let package = workspace.package(PACKAGE).with_context(|| format!("this workspace has no package `{PACKAGE}`"))?;
    anyhow::ensure!(
        package.has_target("bin", "conformance"),
        "`{PACKAGE}` has no program `conformance`, which plays one scenario"
    );
    let mut command = match build {
        Build::Package => cargo(["build", "-p", PACKAGE, "--bins"]),
        Build::PreserveOrder => cargo(["build", "-p", PACKAGE, "--bins", "--features", "serde_json/preserve_order"]),
        Build::Workspace => cargo(["build", "--workspace", "--all-features", "--bins", "--tests"]),
    };
    if !succeeds(&mut command)? {
        return Ok((false, Counts::default()));
    }
    let program = workspace.target_directory.join("debug/conformance-all");
    counted(Command::new(program).args(args).envs(variables))
}
