//! `test-all`: every check in order, a table, and one closing line.
//!
//! A failed step does not stop the ones after it: one run shows everything that is wrong.

mod options;
mod shared;
mod steps;

use std::time::Instant;

use crate::report::{Outcome, StepReport, table, total};
use crate::workspace::Workspace;
use options::Options;
use shared::{Need, Run};
use steps::{STEPS, Step};

pub(crate) fn step_names() -> Vec<&'static str> {
    STEPS.iter().map(|step| step.name).collect()
}

/// Runs the steps; false when anything failed.
pub(crate) fn run(args: &mut lexopt::Parser) -> anyhow::Result<bool> {
    let options = Options::parse(args, &step_names())?;
    let steps: Vec<&Step> = STEPS.iter().filter(|s| options.wants(s.name)).collect();
    let mut run = Run::new(Workspace::load()?);
    if options.require_postgres && !steps.iter().any(|step| step.needs.contains(&Need::Postgres)) {
        println!("note: no step of this run uses Postgres, so no server is started");
    }
    let mut reports = Vec::new();
    for step in steps {
        for need in step.needs {
            match need {
                Need::Postgres => reports.extend(run.obtain_postgres(&options)),
                Need::Pgbouncer => reports.extend(run.obtain_pgbouncer(&options)),
                Need::Adk => reports.extend(run.obtain_adk()),
                Need::McpServers => reports.extend(run.obtain_mcp_servers()),
                Need::Schemathesis => reports.extend(run.obtain_schemathesis()),
                Need::Browser => reports.extend(run.obtain_browser()),
            }
        }
        reports.push(report(&run, step));
    }
    let sum = total(&reports);
    println!("\n{}\n{sum}", table(&reports));
    Ok(sum.failed == 0)
}

/// Runs one step.
fn report(run: &Run, step: &Step) -> StepReport {
    println!("\n=== {}: {}", step.name, step.about);
    let start = Instant::now();
    let outcome = (step.run)(run).unwrap_or_else(|error| {
        println!("error: {error:#}");
        Outcome::Failed(Default::default())
    });
    StepReport { name: step.name, outcome, time: start.elapsed() }
}
