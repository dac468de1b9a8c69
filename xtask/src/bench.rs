//! `bench`: builds the benchmark program in release mode, and runs it with the given arguments. Starts a Postgres
//! server if a row needs one.

use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::cargo::{cargo, succeeds};
use crate::postgres::{Durability, Server, URL_VARIABLE};
use crate::workspace::Workspace;

const PACKAGE: &str = "pleach-benches";

pub(crate) fn run(args: &[String]) -> anyhow::Result<bool> {
    Workspace::load()?.package(PACKAGE).with_context(|| format!("this workspace has no package `{PACKAGE}`"))?;
    let listed = program(args).arg("--list").stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    if !listed.status.success() {
        return Ok(false);
    }
    let wants_postgres = String::from_utf8_lossy(&listed.stdout).contains("postgres");
    let server = wants_postgres.then(|| Server::obtain(Durability::Disk)).transpose();
    // Without a server, the program names the rows that it skips.
    let server = server.unwrap_or_else(|error| {
        eprintln!("no Postgres: {error:#}");
        None
    });
    succeeds(program(args).envs(server.as_ref().map(|server| (URL_VARIABLE, server.url()))))
}

fn program(args: &[String]) -> Command {
    let mut command = cargo(["run", "--release", "-q", "-p", PACKAGE, "--bin", "bench", "--"]);
    command.args(args);
    command
}
