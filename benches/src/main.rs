//! `bench`: measures pleach with the workloads that other runtimes have been measured with.
//!
//! `bench [--only W1,W5] [--row N=10] [--json]` prints one measurement per line. Every row runs in a process of its own,
//! so no row inherits a warm allocator or the peak memory of another row. A call that names a single workload and row
//! (`--only W1 --row N=10`) measures in its own process, as a profiler needs. `--list` only names the rows.
//!
//! Workloads use the public API and a current-thread runtime. Unless the row says otherwise, they run one invocation at
//! a time. Lines of the peer `limit` measure the database driver alone, without pleach, with the same rows in the
//! database. `rate_to_limit` compares pleach with the fastest limit, round by round.
//!
//! Each row on Postgres uses its own schema on the server that `PLEACH_TEST_POSTGRES_URL` names. Without a server these
//! rows are skipped.

mod agents;
mod args;
mod connection;
mod events;
mod isolate;
mod measure;
mod report;
mod row;
mod runs;
mod stores;
mod workloads;

use std::process::ExitCode;

use args::Args;
use pleach::BoxError;
use report::{Measurement, Report};
use row::Row;

fn main() -> ExitCode {
    let args = match Args::parse(lexopt::Parser::from_env()) {
        Ok(args) => args,
        Err(error) => {
            eprintln!("bench: {error}\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<(), BoxError> {
    let mut report = Report::new(args.json);
    let single = args.is_single_row();
    for row in args.rows {
        let place = format!("{} {}", row.workload, row.param);
        if args.list {
            report.name(&place)?;
            continue;
        }
        if let Some(reason) = &row.skipped {
            eprintln!("SKIPPED {place}: {reason}");
            continue;
        }
        let measured = if single { measure_here(row) } else { isolate::measure(&row) };
        for measurement in measured.map_err(|error| format!("{place}: {error}"))? {
            report.add(&measurement)?;
        }
    }
    Ok(())
}

fn measure_here(row: Row) -> Result<Vec<Measurement>, BoxError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let metrics = runtime.block_on(row.run)?;
    Ok(metrics.into_iter().map(|metric| Measurement::new(row.workload, &row.param, metric)).collect())
}
