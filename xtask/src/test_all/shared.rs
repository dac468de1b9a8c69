//! What the steps of `test-all` share: the workspace, and things from outside, each obtained once.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::options::Options;
use crate::adk::{self, PYTHON_VARIABLE};
use crate::browser::{self, Browser, CHROMIUM_VARIABLE, DRIVER_VARIABLE};
use crate::mcp_servers::{self, SERVERS_VARIABLE};
use crate::pgbouncer;
use crate::postgres::{Durability, Server, URL_VARIABLE};
use crate::report::{Outcome, StepReport};
use crate::schemathesis;
use crate::workspace::Workspace;

/// What the steps share.
pub(super) struct Run {
    pub(super) workspace: Workspace,
    postgres: Wanted<Server>,
    pgbouncer: Wanted<PathBuf>,
    adk: Wanted<PathBuf>,
    mcp_servers: Wanted<PathBuf>,
    schemathesis: Wanted<PathBuf>,
    browser: Wanted<Browser>,
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
}

impl Run {
    pub(super) fn new(workspace: Workspace) -> Self {
        Self {
            workspace,
            postgres: Wanted::NotAsked,
            pgbouncer: Wanted::NotAsked,
            adk: Wanted::NotAsked,
            mcp_servers: Wanted::NotAsked,
            schemathesis: Wanted::NotAsked,
            browser: Wanted::NotAsked,
        }
    }

    /// Gets the server; a row of its own in the table.
    pub(super) fn obtain_postgres(&mut self, options: &Options) -> Option<StepReport> {
        let about = "a server for the steps that use one";
        let report = self.postgres.obtain("postgres", about, || Server::obtain(Durability::None))?;
        Some(options.require(report))
    }

    /// Gets the pooler; a row of its own, and required where the server is.
    pub(super) fn obtain_pgbouncer(&mut self, options: &Options) -> Option<StepReport> {
        let about = "a pooler for the tests that put one in front of the server";
        Some(options.require(self.pgbouncer.obtain("pgbouncer", about, pgbouncer::obtain)?))
    }

    /// Gets the Python; also a row of its own, and never a failure: a machine that has only Rust is a good machine.
    pub(super) fn obtain_adk(&mut self) -> Option<StepReport> {
        let target = &self.workspace.target_directory;
        self.adk.obtain("adk", "google-adk for the tests that compare with it", || adk::obtain(target))
    }

    /// Gets the MCP servers; also a row of its own, and never a failure.
    pub(super) fn obtain_mcp_servers(&mut self) -> Option<StepReport> {
        let target = &self.workspace.target_directory;
        let about = "reference MCP servers for the tests that start them";
        self.mcp_servers.obtain("mcp", about, || mcp_servers::obtain(target))
    }

    /// Gets the program that checks the server against its description; also a row of its own, and never a failure.
    pub(super) fn obtain_schemathesis(&mut self) -> Option<StepReport> {
        let target = &self.workspace.target_directory;
        let about = "the program that checks the server against its description";
        self.schemathesis.obtain("schemathesis", about, || schemathesis::obtain(target))
    }

    /// Gets the browser; also a row of its own, and never a failure.
    pub(super) fn obtain_browser(&mut self) -> Option<StepReport> {
        self.browser.obtain("chromium", "a browser for the tests of pages", browser::obtain)
    }

    /// Returns why a step that needs a browser cannot run.
    pub(super) fn lacks_browser(&self) -> Option<String> {
        (!matches!(self.browser, Wanted::Ready(_))).then(|| "there is no Chromium, see the row `chromium`".to_owned())
    }

    /// Returns the Python with google-adk.
    pub(super) fn adk(&self) -> Option<&Path> {
        match &self.adk {
            Wanted::Ready(python) => Some(python),
            _ => None,
        }
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
    fn obtain(
        &mut self,
        name: &'static str,
        about: &str,
        obtain: impl FnOnce() -> anyhow::Result<T>,
    ) -> Option<StepReport> {
        if !matches!(self, Self::NotAsked) {
            return None;
        }
        println!("\n=== {name}: {about}");
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
        Some(StepReport { name, outcome, time: start.elapsed() })
    }
}
