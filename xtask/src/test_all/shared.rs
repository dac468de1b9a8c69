//! What the steps of `test-all` share: the workspace, and things from outside, each obtained once.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::skips::{self, Allowed, Skip, Skips};
use crate::adk::{self, PYTHON_VARIABLE};
use crate::browser::{self, Browser, CHROMIUM_VARIABLE, DRIVER_VARIABLE, UI_VARIABLE};
use crate::cargo::counted_with;
use crate::mcp_servers::{self, SERVERS_VARIABLE};
use crate::pgbouncer;
use crate::postgres::{Durability, Server, URL_VARIABLE};
use crate::report::{Counts, Outcome, StepReport};
use crate::schemathesis;
use crate::tools::{CARGO_DENY, MDBOOK};
use crate::workspace::Workspace;

/// What the steps share.
pub(super) struct Run {
    pub(super) workspace: Workspace,
    pub(super) allowed: Allowed,
    is_ci: bool,
    postgres: Wanted<Server>,
    pgbouncer: Wanted<PathBuf>,
    adk: Wanted<PathBuf>,
    mcp_servers: Wanted<PathBuf>,
    schemathesis: Wanted<PathBuf>,
    browser: Wanted<Browser>,
    cargo_deny: Wanted<PathBuf>,
    mdbook: Wanted<PathBuf>,
}

/// Something from outside, obtained when the first step that uses it starts.
enum Wanted<T> {
    NotAsked,
    Ready(T),
    Unavailable,
}

/// Names what steps use from outside. They do the rest of their work without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// A database server.
    Postgres,
    /// The program `pgbouncer`, for tests that put it in front of the database server.
    Pgbouncer,
    /// A Python with google-adk.
    Adk,
    /// The reference MCP servers.
    McpServers,
    /// The program that checks the server against its description.
    Schemathesis,
    /// A Chromium.
    Browser,
    /// The program that judges dependencies.
    CargoDeny,
    /// The program that makes the book.
    Mdbook,
}

impl Need {
    #[cfg(test)]
    pub(super) const ALL: [Self; 8] = [
        Self::Postgres,
        Self::Pgbouncer,
        Self::Adk,
        Self::McpServers,
        Self::Schemathesis,
        Self::Browser,
        Self::CargoDeny,
        Self::Mdbook,
    ];

    /// Its row in the table.
    pub(super) fn row(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Pgbouncer => "pgbouncer",
            Self::Adk => "adk",
            Self::McpServers => "mcp",
            Self::Schemathesis => "schemathesis",
            Self::Browser => "chromium",
            Self::CargoDeny => CARGO_DENY.program,
            Self::Mdbook => MDBOOK.program,
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Postgres => "a server for the steps that use one",
            Self::Pgbouncer => "a pooler for the tests that put one in front of the server",
            Self::Adk => "google-adk for the tests that compare with it",
            Self::McpServers => "reference MCP servers for the tests that start them",
            Self::Schemathesis => "the program that checks the server against its description",
            Self::Browser => "a browser for the tests of pages",
            Self::CargoDeny => "the program that judges dependencies",
            Self::Mdbook => "the program that makes the book",
        }
    }

    /// The variables by which tests find it; they name one of them when they are skipped without it.
    fn variables(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => &[URL_VARIABLE],
            Self::Pgbouncer => &[pgbouncer::PROGRAM_VARIABLE],
            Self::Adk => &[PYTHON_VARIABLE, UI_VARIABLE],
            Self::McpServers => &[SERVERS_VARIABLE],
            Self::Schemathesis => &[schemathesis::PROGRAM_VARIABLE],
            Self::Browser => &[CHROMIUM_VARIABLE],
            Self::CargoDeny | Self::Mdbook => &[],
        }
    }
}

impl Run {
    pub(super) fn new(allowed: Allowed, is_ci: bool, workspace: Workspace) -> Self {
        Self {
            workspace,
            allowed,
            is_ci,
            postgres: Wanted::NotAsked,
            pgbouncer: Wanted::NotAsked,
            adk: Wanted::NotAsked,
            mcp_servers: Wanted::NotAsked,
            schemathesis: Wanted::NotAsked,
            browser: Wanted::NotAsked,
            cargo_deny: Wanted::NotAsked,
            mdbook: Wanted::NotAsked,
        }
    }

    /// Gets a thing unless that has been tried already; a row of its own in the table.
    pub(super) fn obtain(&mut self, need: Need) -> Option<StepReport> {
        let target = &self.workspace.target_directory;
        match need {
            Need::Postgres => self.postgres.obtain(need, || Server::obtain(Durability::None)),
            Need::Pgbouncer => self.pgbouncer.obtain(need, pgbouncer::obtain),
            Need::Adk => self.adk.obtain(need, || adk::obtain(target)),
            Need::McpServers => self.mcp_servers.obtain(need, || mcp_servers::obtain(target)),
            Need::Schemathesis => self.schemathesis.obtain(need, || schemathesis::obtain(target)),
            Need::Browser => self.browser.obtain(need, browser::obtain),
            Need::CargoDeny => self.cargo_deny.obtain(need, || CARGO_DENY.obtain(target)),
            Need::Mdbook => self.mdbook.obtain(need, || MDBOOK.obtain(target)),
        }
    }

    /// Returns why a step that needs a browser cannot run.
    pub(super) fn lacks_browser(&self) -> Option<String> {
        (!matches!(self.browser, Wanted::Ready(_))).then(|| "there is no Chromium, see the row `chromium`".to_owned())
    }

    /// Returns the Python with google-adk.
    pub(super) fn adk(&self) -> Option<&Path> {
        self.adk.path()
    }

    /// Returns the program that judges dependencies.
    pub(super) fn cargo_deny(&self) -> Option<&Path> {
        self.cargo_deny.path()
    }

    /// Returns the program that makes the book.
    pub(super) fn mdbook(&self) -> Option<&Path> {
        self.mdbook.path()
    }

    /// Runs tests, and counts those that are skipped as such; in CI each that `docs/testing.md` does not name is a failure.
    pub(super) fn tests(&self, command: &mut Command) -> anyhow::Result<(bool, Counts)> {
        let mut skips = Skips::new(&self.workspace.target_directory)?;
        command.env(skips::VARIABLE, skips.file());
        let (ok, mut counts) = counted_with(command, |line| skips.read_line(line))?;
        let (said, ignored) = skips.read()?;
        skips::judge(&mut counts, &said, &ignored, self.is_ci, |skip| self.may_skip(skip));
        Ok((ok, counts))
    }

    /// Whether a test may be skipped: the page names it, or what it lacks has a row that was judged already.
    fn may_skip(&self, skip: &Skip) -> bool {
        let lacks = |need: Need| need.variables().iter().any(|variable| skip.reason.contains(variable));
        self.allowed.has(skip) || self.unavailable().any(lacks)
    }

    fn unavailable(&self) -> impl Iterator<Item = Need> {
        let all = [
            (Need::Postgres, matches!(self.postgres, Wanted::Unavailable)),
            (Need::Pgbouncer, matches!(self.pgbouncer, Wanted::Unavailable)),
            (Need::Adk, matches!(self.adk, Wanted::Unavailable)),
            (Need::McpServers, matches!(self.mcp_servers, Wanted::Unavailable)),
            (Need::Schemathesis, matches!(self.schemathesis, Wanted::Unavailable)),
            (Need::Browser, matches!(self.browser, Wanted::Unavailable)),
        ];
        all.into_iter().filter_map(|(need, is_unavailable)| is_unavailable.then_some(need))
    }

    /// The variables by which tests find what there is to use.
    /// Without one, the tests that need the thing say SKIPPED and pass.
    pub(super) fn environment(&self) -> Vec<(&'static str, &OsStr)> {
        let mut variables = Vec::new();
        if let Wanted::Ready(server) = &self.postgres {
            variables.push((URL_VARIABLE, OsStr::new(server.url())));
        }
        if let Wanted::Ready(program) = &self.pgbouncer {
            variables.push((pgbouncer::PROGRAM_VARIABLE, program.as_os_str()));
        }
        if let Wanted::Ready(python) = &self.adk {
            variables.push((PYTHON_VARIABLE, python.as_os_str()));
        }
        if let Wanted::Ready(folder) = &self.mcp_servers {
            variables.push((SERVERS_VARIABLE, folder.as_os_str()));
        }
        if let Wanted::Ready(program) = &self.schemathesis {
            variables.push((schemathesis::PROGRAM_VARIABLE, program.as_os_str()));
        }
        if let Wanted::Ready(browser) = &self.browser {
            variables.push((CHROMIUM_VARIABLE, browser.chromium.as_os_str()));
            variables.push((DRIVER_VARIABLE, browser.driver.as_os_str()));
        }
        variables
    }
}

impl<T> Wanted<T> {
    /// Gets the thing unless that has been tried already.
    fn obtain(&mut self, need: Need, obtain: impl FnOnce() -> anyhow::Result<T>) -> Option<StepReport> {
        if !matches!(self, Self::NotAsked) {
            return None;
        }
        println!("\n=== {}: {}", need.row(), need.about());
        let start = Instant::now();
        let outcome = match obtain() {
            Ok(thing) => {
                *self = Self::Ready(thing);
                Outcome::Passed(Default::default())
            }
            Err(error) => {
                *self = Self::Unavailable;
                let reason = format!("{error:#}");
                println!("not to be had: {reason}");
                Outcome::Skipped(reason)
            }
        };
        Some(StepReport { name: need.row(), outcome, time: start.elapsed() })
    }
}

impl Wanted<PathBuf> {
    fn path(&self) -> Option<&Path> {
        match self {
            Self::Ready(path) => Some(path),
            _ => None,
        }
    }
}
