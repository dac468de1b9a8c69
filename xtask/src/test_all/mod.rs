//! `test-all`: every check in order, a table, and one closing line.
//!
//! A failed step does not stop the ones after it: one run shows everything that is wrong.

mod options;
mod steps;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Instant;

use crate::adk::{self, PYTHON_VARIABLE};
use crate::postgres::{Durability, Server, URL_VARIABLE};
use crate::report::{Outcome, StepReport, table, total};
use crate::workspace::Workspace;
use options::Options;
use steps::{STEPS, Step};

/// What the steps share.
struct Run {
    workspace: Workspace,
    postgres: Wanted<Server>,
    adk: Wanted<PathBuf>,
}

/// Something from outside, obtained when the first step that uses it starts.
enum Wanted<T> {
    NotAsked,
    Ready(T),
    Unavailable,
}

/// Names what steps use from outside. They do the rest of their work without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// A database server.
    Postgres,
    /// A Python with google-adk.
    Adk,
}

pub(crate) fn step_names() -> Vec<&'static str> {
    STEPS.iter().map(|step| step.name).collect()
}

/// Runs the steps; false when anything failed.
pub(crate) fn run(args: &mut lexopt::Parser) -> anyhow::Result<bool> {
    let options = Options::parse(args, &step_names())?;
    let steps: Vec<&Step> = STEPS.iter().filter(|s| options.wants(s.name)).collect();
    let mut run = Run { workspace: Workspace::load()?, postgres: Wanted::NotAsked, adk: Wanted::NotAsked };
    if options.require_postgres && !steps.iter().any(|step| step.needs.contains(&Need::Postgres)) {
        println!("note: no step of this run uses Postgres, so no server is started");
    }
    let mut reports = Vec::new();
    for step in steps {
        for need in step.needs {
            match need {
                Need::Postgres => reports.extend(run.obtain_postgres(&options)),
                Need::Adk => reports.extend(run.obtain_adk()),
            }
        }
        reports.push(run.report(step));
    }
    let sum = total(&reports);
    println!("\n{}\n{sum}", table(&reports));
    Ok(sum.failed == 0)
}

impl Run {
    fn report(&self, step: &Step) -> StepReport {
        println!("\n=== {}: {}", step.name, step.about);
        let start = Instant::now();
        let outcome = (step.run)(self).unwrap_or_else(|error| {
            println!("error: {error:#}");
            Outcome::Failed(Default::default())
        });
        StepReport { name: step.name, outcome, time: start.elapsed() }
    }

    /// Gets the server; a row of its own in the table.
    fn obtain_postgres(&mut self, options: &Options) -> Option<StepReport> {
        let about = "a server for the steps that use one";
        let mut report = self.postgres.obtain("postgres", about, || Server::obtain(Durability::None))?;
        if options.require_postgres && matches!(report.outcome, Outcome::Skipped(_)) {
            report.outcome = Outcome::Failed(Default::default());
        }
        Some(report)
    }

    /// Gets the Python; also a row of its own, and never a failure: a machine that has only Rust is a good machine.
    fn obtain_adk(&mut self) -> Option<StepReport> {
        let target = &self.workspace.target_directory;
        self.adk.obtain("adk", "google-adk for the tests that compare with it", || adk::obtain(target))
    }

    /// The variables by which tests find what there is to use.
    /// Without one, the tests that need the thing say SKIPPED and pass.
    fn environment(&self) -> Vec<(&'static str, &OsStr)> {
        let mut variables = Vec::new();
        if let Wanted::Ready(server) = &self.postgres {
            variables.push((URL_VARIABLE, OsStr::new(server.url())));
        }
        if let Wanted::Ready(python) = &self.adk {
            variables.push((PYTHON_VARIABLE, python.as_os_str()));
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
