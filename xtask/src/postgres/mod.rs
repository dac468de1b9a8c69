//! Provides a Postgres server for tests: the server that the environment names, or a private throw-away server.
//!
//! This module finds or installs the server programs, and starts and stops the private cluster. Nothing is written to
//! any server except the named one and the one that was verifiably started here.

mod account;
mod cluster;
mod programs;
mod state;

use anyhow::{Context as _, bail};

use crate::workspace::Workspace;
pub(crate) use cluster::Durability;
use cluster::{Cluster, Lifetime};
use programs::Programs;
use state::State;

/// The variable that names a server to use. Tests find their server with the same variable.
pub(crate) const URL_VARIABLE: &str = "PLEACH_TEST_POSTGRES_URL";

/// A server that tests may write to.
#[derive(Debug)]
pub(crate) enum Server {
    /// A server that the environment names. It keeps running afterwards.
    Given(String),
    /// A server that was started here. It is stopped and removed on drop.
    Own(Cluster),
}

impl Server {
    /// Returns the server that the environment names, or starts a server with this durability.
    ///
    /// # Errors
    /// The environment names no server, and none can be started. The text has the reason.
    pub(crate) fn obtain(durability: Durability) -> anyhow::Result<Self> {
        match std::env::var(URL_VARIABLE) {
            Ok(url) if !url.is_empty() => Ok(Self::Given(url)),
            _ => {
                let programs = Programs::find_or_install()?;
                Cluster::start(programs, Lifetime::Scope, durability).map(Self::Own)
            }
        }
    }

    pub(crate) fn url(&self) -> &str {
        match self {
            Self::Given(url) => url,
            Self::Own(cluster) => cluster.url(),
        }
    }
}

/// Runs `postgres up` or `postgres down`.
pub(crate) fn run(args: &[String]) -> anyhow::Result<bool> {
    match args.first().map(String::as_str) {
        Some("up") => up()?,
        Some("down") => down()?,
        _ => bail!("`postgres` takes `up` or `down`"),
    }
    Ok(true)
}

fn up() -> anyhow::Result<()> {
    let target = Workspace::load()?.target_directory;
    if let Some(state) = State::load(&target)? {
        let cluster = state.cluster()?;
        if cluster.answers() {
            println!("{}", state.url);
            return Ok(());
        }
        // The server was stopped in another way, for example by a reboot. Remove its files.
        cluster.stop_and_remove()?;
        State::forget(&target)?;
    }
    let cluster = Cluster::start(Programs::find_or_install()?, Lifetime::Detached, Durability::None)?;
    State::of(&cluster).save(&target)?;
    println!("{}", cluster.url());
    cluster.leave_running();
    Ok(())
}

fn down() -> anyhow::Result<()> {
    let target = Workspace::load()?.target_directory;
    let state = State::load(&target)?.context("no server was started with `postgres up`")?;
    state.cluster()?.stop_and_remove()?;
    State::forget(&target)
}
