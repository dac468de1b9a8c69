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
    Unavailable(String),
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
    let reports: Vec<StepReport> = steps.into_iter().map(|step| run.report(step, &options)).collect();
    let sum = total(&reports);
    println!("\n{}\n{sum}", table(&reports));
    Ok(sum.failed == 0)
}

impl Run {
    fn report(&mut self, step: &Step, options: &Options) -> StepReport {
        println!("\n=== {}: {}", step.name, step.about);
        let start = Instant::now();
        let outcome = self.outcome(step, options);
        StepReport { name: step.name, outcome, time: start.elapsed() }
    }

    fn outcome(&mut self, step: &Step, options: &Options) -> Outcome {
        if step.needs_postgres
            && let Some(reason) = self.missing_postgres()
        {
            println!("{reason}");
            return if options.require_postgres {
                Outcome::Failed(Default::default())
            } else {
                Outcome::Skipped(reason)
            };
        }
        (step.run)(self).unwrap_or_else(|error| {
            println!("error: {error:#}");
            Outcome::Failed(Default::default())
        })
    }

    /// Why there is no server, if there is none.
    fn missing_postgres(&mut self) -> Option<String> {
        if matches!(self.postgres, Postgres::NotAsked) {
            self.postgres = match Server::obtain() {
                Ok(server) => Postgres::Ready(server),
                Err(error) => Postgres::Unavailable(format!("no Postgres: {error:#}")),
            };
        }
        match &self.postgres {
            Postgres::Unavailable(reason) => Some(reason.clone()),
            _ => None,
        }
    }

    /// The variables that tell tests which server to use.
    fn environment(&self) -> Option<(&'static str, &str)> {
        match &self.postgres {
            Postgres::Ready(server) => Some((URL_VARIABLE, server.url())),
            _ => None,
        }
    }
}
