//! Plays every conformance scenario and compares the traces with the recorded ones.
//!
//! `conformance-all [FILTER] [--backend memory|sqlite|postgres] [--reopen]` runs the program `conformance` in the same
//! folder for each scenario. Without `--backend` it plays in memory, in SQLite with `--reopen`, and, if
//! `PLEACH_TEST_POSTGRES_URL` names a server, in Postgres with `--reopen`. The last line is `N passed, M failed, K
//! skipped`. Known failures are counted as skipped.
//!
//! `conformance-all [FILTER] --dump FOLDER` compares nothing. It plays the scenarios in memory and writes the stored events
//! of each to `FOLDER/NAME.jsonl`, one JSON object per line. Ids are counted and time is paused, so the folders of two
//! versions of pleach differ only if the versions store different events.

use std::path::{Path, PathBuf};
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
    if let Some(folder) = &options.dump {
        return dump(&program, &cases, folder, &expected);
    }
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

/// Writes the events that each case stores. Returns false if a case that is not known to fail stores nothing.
#[expect(clippy::print_stdout, reason = "the report of a program")]
fn dump(program: &Path, cases: &[Case<'_>], folder: &Path, expected: &ExpectedFailures) -> anyhow::Result<bool> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (mut written, mut failed, mut skipped) = (0, 0, 0);
    for (case, stored) in cases.iter().zip(corpus::stored_by_all(program, cases)) {
        match stored {
            Ok(lines) => {
                let file = folder.join(&case.scenario.name).with_extension("jsonl");
                std::fs::write(&file, lines).with_context(|| format!("cannot write {}", file.display()))?;
                written += 1;
            }
            Err(_) if expected.reason(case).is_some() => skipped += 1,
            Err(error) => {
                println!("{case}: {error}");
                failed += 1;
            }
        }
    }
    println!("{written} passed, {failed} failed, {skipped} skipped");
    Ok(failed == 0)
}

struct Options {
    filter: String,
    lanes: Vec<Lane>,
    dump: Option<PathBuf>,
}

impl Options {
    fn parse(mut args: Parser) -> anyhow::Result<Self> {
        let (mut filter, mut backend, mut reopen, mut dump) = (None, None, false, None);
        while let Some(arg) = args.next()? {
            match arg {
                Long("backend") => backend = Some(args.value()?.string()?),
                Long("reopen") => reopen = true,
                Long("dump") => dump = Some(PathBuf::from(args.value()?)),
                Value(text) if filter.is_none() => filter = Some(text.string()?),
                other => return Err(other.unexpected().into()),
            }
        }
        let lanes = match backend {
            Some(_) if dump.is_some() => bail!("--dump plays in memory, so it cannot be combined with --backend"),
            None if dump.is_some() && !reopen => vec![Lane { backend: "memory".into(), reopen: false }],
            Some(backend) if Lane::BACKENDS.contains(&backend.as_str()) => {
                vec![Lane { backend, reopen }]
            }
            Some(other) => bail!("unknown backend `{other}`"),
            None if reopen => bail!("--reopen needs --backend"),
            None => Lane::available(),
        };
        Ok(Self { filter: filter.unwrap_or_default(), lanes, dump })
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
