//! `test-all`: every check in order, a table, and one closing line.
//!
//! A failed step does not stop the ones after it: one run shows everything that is wrong.

mod options;
mod steps;

use std::time::Instant;

use crate::postgres::{Server, URL_VARIABLE};
use crate::report::{Outcome, StepReport, table, total};
use crate::workspace::Workspace;
use options::Options;
use steps::{STEPS, Step};

/// What the steps share.
struct Run {
    workspace: Workspace,
    postgres: Postgres,
}

/// The server for the steps that need one, obtained when the first of them starts.
enum Postgres {
    NotAsked,
    Ready(Server),
    Unavailable,
}

pub(crate) fn step_names() -> Vec<&'static str> {
    STEPS.iter().map(|step| step.name).collect()
}

/// Runs the steps; false when anything failed.
pub(crate) fn run(args: &[String]) -> anyhow::Result<bool> {
    let options = Options::parse(args, &step_names())?;
    let steps: Vec<&Step> = STEPS.iter().filter(|s| options.wants(s.name)).collect();
    let mut run = Run { workspace: Workspace::load()?, postgres: Postgres::NotAsked };
    if options.require_postgres && !steps.iter().any(|step| step.needs_postgres) {
        println!("note: no step of this run uses Postgres, so no server is started");
    }
    let mut reports = Vec::new();
    for step in steps {
        if step.needs_postgres && matches!(run.postgres, Postgres::NotAsked) {
            reports.push(run.obtain_postgres(&options));
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

    /// Gets the server; a row of its own in the table, because the steps do the rest of their work without one.
    fn obtain_postgres(&mut self, options: &Options) -> StepReport {
        println!("\n=== postgres: a server for the steps that use one");
        let start = Instant::now();
        let outcome = match Server::obtain() {
            Ok(server) => {
                self.postgres = Postgres::Ready(server);
                Outcome::Passed(Default::default())
            }
            Err(error) => {
                self.postgres = Postgres::Unavailable;
                let reason = format!("no Postgres: {error:#}");
                println!("{reason}");
                if options.require_postgres { Outcome::Failed(Default::default()) } else { Outcome::Skipped(reason) }
            }
        };
        StepReport { name: "postgres", outcome, time: start.elapsed() }
    }

    /// The variables that tell tests which server to use.
    /// None without a server: the tests that need one then say SKIPPED and pass.
    fn environment(&self) -> Option<(&'static str, &str)> {
        match &self.postgres {
            Postgres::Ready(server) => Some((URL_VARIABLE, server.url())),
            _ => None,
        }
    }
}
