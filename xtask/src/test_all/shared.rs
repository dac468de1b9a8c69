//! [`Run`]: the state that the steps of `test-all` share: the workspace, and external programs and servers, each
//! obtained once.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::skips::{self, Allowed, Skip, Skips};
use crate::cargo::counted_with;
use crate::postgres::{Durability, Server};
use crate::report::{Counts, Outcome, StepReport};
use crate::tools::Need;
use crate::workspace::Workspace;

pub(super) struct Run {
    pub(super) workspace: Workspace,
    pub(super) allowed: Allowed,
    is_ci: bool,
    /// For each need that was obtained, the values of the variables with which tests find it; `None` if it is not
    /// available.
    obtained: BTreeMap<Need, Option<Vec<OsString>>>,
    /// The Postgres server, which is stopped at the end.
    server: Option<Server>,
}

impl Run {
    pub(super) fn new(allowed: Allowed, is_ci: bool, workspace: Workspace) -> Self {
        Self { workspace, allowed, is_ci, obtained: BTreeMap::new(), server: None }
    }

    /// Obtains a need unless that has been tried already. Returns its row of the closing table.
    pub(super) fn obtain(&mut self, need: Need) -> Option<StepReport> {
        if self.obtained.contains_key(&need) {
            return None;
        }
        let name = need.describe().row;
        println!("\n=== {name}: {}", need.describe().about);
        let start = Instant::now();
        let found = match need {
            Need::Postgres => self.start_server(),
            need => need.obtain(&self.workspace.target_directory),
        };
        let outcome = match &found {
            Ok(_) => Outcome::Passed(Counts::default()),
            Err(error) => {
                println!("not available: {error:#}");
                Outcome::Skipped(format!("{error:#}"))
            }
        };
        self.obtained.insert(need, found.ok());
        Some(StepReport { name, outcome, time: start.elapsed() })
    }

    fn start_server(&mut self) -> anyhow::Result<Vec<OsString>> {
        let server = Server::obtain(Durability::None)?;
        let url = server.url().into();
        self.server = Some(server);
        Ok(vec![url])
    }

    /// Returns the program that was obtained for a need.
    pub(super) fn program(&self, need: Need) -> Option<&Path> {
        self.obtained.get(&need)?.as_ref()?.first().map(Path::new)
    }

    /// Runs tests, and counts the skipped tests. In CI, a skipped test is a failure unless `docs/testing.md` names it.
    pub(super) fn tests(&self, command: &mut Command) -> anyhow::Result<(bool, Counts)> {
        let mut skips = Skips::new(&self.workspace.target_directory)?;
        command.env(skips::VARIABLE, skips.file());
        let (ok, mut counts) = counted_with(command, |line| skips.read_line(line))?;
        let (said, ignored) = skips.read()?;
        skips::judge(&mut counts, &said, &ignored, self.is_ci, |skip| self.may_skip(skip));
        Ok((ok, counts))
    }

    /// Returns true if a test may be skipped: the page names it, or the test lacks a need that has a row of its own and
    /// was judged there.
    fn may_skip(&self, skip: &Skip) -> bool {
        let mut unavailable = self.obtained.iter().filter(|(_, found)| found.is_none());
        let lacks = |need: &Need| need.describe().variables.iter().any(|variable| skip.reason.contains(variable));
        self.allowed.has(skip) || unavailable.any(|(need, _)| lacks(need))
    }

    /// Returns the variables with which tests find the needs that were obtained.
    pub(super) fn environment(&self) -> Vec<(&'static str, &OsStr)> {
        let found = self.obtained.iter().filter_map(|(need, values)| Some((need, values.as_ref()?)));
        found
            .flat_map(|(need, values)| {
                need.describe().variables.iter().copied().zip(values.iter().map(OsString::as_os_str))
            })
            .collect()
    }
}
