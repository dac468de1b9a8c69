//! Plays every conformance scenario and compares the traces with the recorded ones.
//!
//! `conformance-all [FILTER] [--backend memory|sqlite|postgres] [--reopen]`: without
//! `--backend`, in memory, in SQLite with `--reopen`, and the same in Postgres if
//! `PLEACH_TEST_POSTGRES_URL` names a server. Runs the program `conformance` that lies beside it. Ends with one line `N passed, M failed, K skipped`, where known failures
//! count as skipped.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use lexopt::Parser;
use lexopt::prelude::*;
use pleach_tests::corpus::{self, Case, ExpectedFailures, Lane, Scenario};

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("conformance-all: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> anyhow::Result<bool> {
    let options = Options::parse(Parser::from_env())?;
    let program = sibling("conformance")?;
    let folder = corpus::folder();
    let scenarios = corpus::load(&folder.join("scenarios"))?;
    let list = folder.join("expected_failures.txt");
    let list = std::fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
    let expected = ExpectedFailures::parse(&list, &scenarios);

    let cases = options.cases(&scenarios);
    ensure!(!cases.is_empty(), "no scenario matches `{}`", options.filter);
    let found = corpus::run_all(&program, &cases);
    let results: Vec<_> = cases
        .into_iter()
        .zip(found)
        .map(|(case, found)| {
            let verdict = corpus::judge(&case, found, &expected);
            (case, verdict)
        })
        .collect();
    let summary = corpus::write_report(&mut std::io::stdout(), &results, expected.faults())?;
    Ok(summary.failed == 0)
}

struct Options {
    filter: String,
    lanes: Vec<Lane>,
}

impl Options {
    fn parse(mut args: Parser) -> anyhow::Result<Self> {
        let (mut filter, mut backend, mut reopen) = (None, None, false);
        while let Some(arg) = args.next()? {
            match arg {
                Long("backend") => backend = Some(args.value()?.string()?),
                Long("reopen") => reopen = true,
                Value(text) if filter.is_none() => filter = Some(text.string()?),
                other => return Err(other.unexpected().into()),
            }
        }
        let lanes = match backend {
            Some(backend) if Lane::BACKENDS.contains(&backend.as_str()) => {
                vec![Lane { backend, reopen }]
            }
            Some(other) => bail!("unknown backend `{other}`"),
            None if reopen => bail!("--reopen needs --backend"),
            None => Lane::available(),
        };
        Ok(Self { filter: filter.unwrap_or_default(), lanes })
    }

    fn cases<'a>(&'a self, scenarios: &'a [Scenario]) -> Vec<Case<'a>> {
        let wanted = scenarios.iter().filter(|s| s.matches(&self.filter));
        wanted.flat_map(|scenario| self.lanes.iter().map(move |lane| Case { scenario, lane })).collect()
    }
}

/// A program built into the same folder as this one.
fn sibling(name: &str) -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe().context("cannot find this program's own file")?;
    let path = here.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    ensure!(path.is_file(), "{} is missing; build it with `cargo build -p pleach-tests --bins`", path.display());
    Ok(path)
}
