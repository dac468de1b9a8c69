//! Plays one conformance scenario and prints its trace.
//!
//! `conformance SCENARIO.json [--backend memory|sqlite|postgres] [--reopen] [--events]` prints the trace as JSON, not
//! normalised. With `--events` it prints the stored events instead, one JSON object per line, with the id of a session
//! before its events. In memory these are the same bytes in every play. `--reopen` drops the Runner and the session
//! service after every turn, and reopens the stored session. Sessions in memory cannot be reopened, so there only the
//! Runner is rebuilt. If there is no trace, the exit status is 1 and standard error has a message.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use lexopt::Parser;
use lexopt::prelude::*;
use pleach_tests::corpus::Lane;
use pleach_tests::scenario::{Stored, play, read};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let Arguments { path, lane, events } = arguments(Parser::from_env())?;
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let scenario = read(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // In memory no task waits for the machine, so sleeps take no time and their order is exact.
        .start_paused(lane.backend == "memory")
        .build()?;
    let played = runtime.block_on(play(&scenario, &lane))?;
    let mut out = std::io::stdout().lock();
    if events {
        return print_events(&played.stored, &mut out);
    }
    serde_json::to_writer_pretty(&mut out, &played.trace)?;
    writeln!(out)?;
    Ok(())
}

fn print_events(stored: &Stored, out: &mut impl Write) -> anyhow::Result<()> {
    for (session, events) in stored {
        writeln!(out, "{}", serde_json::json!({ "session": session }))?;
        for event in events {
            writeln!(out, "{}", serde_json::to_string(&**event)?)?;
        }
    }
    Ok(())
}

struct Arguments {
    path: PathBuf,
    lane: Lane,
    events: bool,
}

fn arguments(mut args: Parser) -> anyhow::Result<Arguments> {
    let (mut path, mut events) = (None, false);
    let mut lane = Lane { backend: "memory".into(), reopen: false };
    while let Some(arg) = args.next()? {
        match arg {
            Long("backend") => lane.backend = args.value()?.string()?,
            Long("reopen") => lane.reopen = true,
            Long("events") => events = true,
            Value(scenario) if path.is_none() => path = Some(PathBuf::from(scenario)),
            other => return Err(other.unexpected().into()),
        }
    }
    let backends = Lane::BACKENDS;
    ensure!(backends.contains(&lane.backend.as_str()), "unknown backend `{}`: one of {backends:?}", lane.backend);
    let path =
        path.context("usage: conformance SCENARIO.json [--backend memory|sqlite|postgres] [--reopen] [--events]")?;
    Ok(Arguments { path, lane, events })
}
