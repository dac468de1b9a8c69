//! A Postgres server for tests: one that is given, or a throw-away one of our own.
//!
//! Owns finding (or installing) the server programs and the life of a private cluster.
//! Nothing is ever written to a server that is neither given by the caller nor shown to be
//! the one started here.

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

/// The variable that names a server to use, and under which tests find theirs.
pub(crate) const URL_VARIABLE: &str = "PLEACH_TEST_POSTGRES_URL";

/// A server that tests may write to.
#[derive(Debug)]
pub(crate) enum Server {
    /// Named by the caller; left alone afterwards.
    Given(String),
    /// Started here; stopped and removed when dropped.
    Own(Cluster),
}

impl Server {
    /// Takes the server given by the environment, or starts one whose commits wait for what `durability` says.
    ///
    /// # Errors
    /// No server is given and none can be started; the text has the reason.
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

/// `postgres up` and `postgres down`.
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
        // Something else has stopped it, for example a reboot: remove its remains.
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
