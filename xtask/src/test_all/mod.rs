//! `test-all`: runs every check in order, and prints a table and a closing line.
//!
//! All steps run even if one fails, so that one run shows all faults. On a CI machine, a skipped step is a failure
//! unless `docs/testing.md` names it.

mod options;
mod shared;
mod skips;
mod steps;

use std::time::Instant;

use crate::report::{Outcome, StepReport, table, total};
use crate::tools::Need;
use crate::workspace::Workspace;
use options::Options;
use shared::Run;
use skips::{Allowed, Skip};
use steps::{STEPS, Step};

/// The rows that `--require postgres` requires: the server and its pooler.
const REQUIRED: &[&str] = &["postgres", "pgbouncer"];

pub(crate) fn step_names() -> Vec<&'static str> {
    STEPS.iter().map(|step| step.name).collect()
}

/// Runs the steps. Returns false if anything failed.
pub(crate) fn run(args: &mut lexopt::Parser) -> anyhow::Result<bool> {
    let options = Options::parse(args, &step_names())?;
    let steps: Vec<&Step> = STEPS.iter().filter(|s| options.wants(s.name)).collect();
    let workspace = Workspace::load()?;
    let mut run = Run::new(Allowed::load(&workspace.workspace_root)?, options.is_ci, workspace);
    if options.require_postgres && !steps.iter().any(|step| step.needs.contains(&Need::Postgres)) {
        println!("note: no step of this run uses Postgres, so no server is started");
    }
    let mut reports = Vec::new();
    for step in steps {
        for need in step.needs {
            let report = run.obtain(*need);
            reports.extend(report.map(|report| judged(report, &options, &run.allowed)));
        }
        reports.push(judged(report(&run, step), &options, &run.allowed));
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

/// Turns a skipped step or row into a failure if it must not be skipped.
fn judged(report: StepReport, options: &Options, allowed: &Allowed) -> StepReport {
    let Outcome::Skipped(reason) = &report.outcome else { return report };
    let skip = Skip { name: report.name.to_owned(), reason: reason.clone() };
    let is_required = options.require_postgres && REQUIRED.contains(&report.name);
    if !is_required && (!options.is_ci || allowed.has(&skip)) {
        return report;
    }
    println!("{}: must not be skipped here: {reason}", report.name);
    StepReport { outcome: Outcome::Failed(Default::default()), ..report }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_skipped_in_ci_is_a_failure_unless_the_page_names_it() {
        let allowed = Allowed::read("### What CI may skip\n| `advisories` | `no way` | the network |\n");
        let check = |name, args: &[&str], is_ci, expected: bool| {
            let report =
                StepReport { name, outcome: Outcome::Skipped("no way to it".into()), time: Default::default() };
            let mut args = lexopt::Parser::from_args(args);
            let mut options = Options::parse(&mut args, &step_names()).expect("options");
            options.is_ci = is_ci;
            let failed = matches!(judged(report, &options, &allowed).outcome, Outcome::Failed(_));
            assert_eq!(failed, expected, "{name} {is_ci}");
        };
        check("deny", &[], false, false);
        check("deny", &[], true, true);
        check("advisories", &[], true, false);
        check("postgres", &[], false, false);
        check("postgres", &["--require", "postgres"], false, true);
        check("adk", &["--require", "postgres"], false, false);
    }

    #[test]
    fn pages_whose_examples_are_not_all_compiled_are_named() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root");
        let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("a file");
        let allowed = Allowed::load(root).expect("the page");
        let facade = read("crates/pleach/src/lib.rs");
        // Find each page and the item that has it as documentation, because rustdoc names the page's examples after
        // that item.
        let pages = facade.split("#[doc = include_str!(\"../../../").skip(1).filter_map(|text| {
            let (page, rest) = text.split_once('"')?;
            Some((page, rest.split_once("struct ")?.1.split_once(';')?.0))
        });
        let is_ignored = |(page, _): &(&str, &str)| {
            read(page).lines().any(|line| line.starts_with("```") && line.contains("ignore"))
        };
        let (ignored, whole) = pages.partition::<Vec<_>, _>(is_ignored);
        let named = |(_, item): &(&str, &str)| {
            let name = format!("crates/pleach/src/lib.rs - {item} (line 1)");
            allowed.has(&Skip { name, reason: "ignored".into() })
        };
        assert!(whole.len() > 10 && ignored.iter().all(named), "{ignored:?}");
        assert!(!whole.iter().any(named), "pages without ignored examples are not named");
    }

    #[test]
    fn the_page_names_only_steps_and_rows_that_there_are() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root");
        let allowed = Allowed::load(root).expect("the page");
        let names: Vec<&str> = step_names().into_iter().chain(Need::ALL.map(|need| need.describe().row)).collect();
        let unknown: Vec<&str> =
            allowed.names().filter(|name| !name.contains(['_', '/']) && !names.contains(name)).collect();
        assert_eq!(unknown, [] as [&str; 0]);
        assert!(allowed.names().any(|name| name == "advisories"), "the table is read");
    }
}
