//! Plays cases in child processes, a few at a time, each under a time limit.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::Case;
use crate::normalise::{Difference, compare};

/// How long one scenario may take.
const LIMIT: Duration = Duration::from_secs(30);

/// How many scenarios run at once: they sleep more than they compute.
const JOBS: usize = 2;

/// Runs every case with `program` and compares the traces, in the order of `cases`.
///
/// A process that cannot be started, does not answer in time or prints no JSON is a
/// difference of its case.
pub fn run_all(program: &Path, cases: &[Case<'_>]) -> Vec<Vec<Difference>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![Vec::new(); cases.len()]);
    thread::scope(|scope| {
        for _ in 0..JOBS.min(cases.len()) {
            scope.spawn(|| {
                while let Some((index, case)) = take(&next, cases) {
                    let found = run_one(program, case);
                    if let Ok(mut results) = results.lock() {
                        results[index] = found;
                    }
                }
            });
        }
    });
    results.into_inner().expect("a worker that panicked has ended the scope already")
}

fn take<'c, 'a>(next: &AtomicUsize, cases: &'c [Case<'a>]) -> Option<(usize, &'c Case<'a>)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    cases.get(index).map(|case| (index, case))
}

fn run_one(program: &Path, case: &Case<'_>) -> Vec<Difference> {
    match play(program, case) {
        Ok(trace) => compare(&case.scenario.golden, &trace),
        Err(what) => vec![Difference { path: "$".into(), golden: "a trace".into(), actual: what }],
    }
}

/// The trace that the program prints, or what it did instead.
fn play(program: &Path, case: &Case<'_>) -> Result<Value, String> {
    let mut command = Command::new(program);
    command.arg(&case.scenario.path);
    command.args(["--backend", &case.lane.backend]);
    if case.lane.reopen {
        command.arg("--reopen");
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    let stdout = read_aside(child.stdout.take());
    let stderr = read_aside(child.stderr.take());
    let answer = stdout.recv_timeout(LIMIT);
    if answer.is_err() {
        // The process may have ended by itself in this moment; then there is nothing to kill.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let Ok(answer) = answer else {
        return Err(format!("no answer within {} s", LIMIT.as_secs()));
    };
    serde_json::from_slice(&answer).map_err(|_| {
        let errors = stderr.recv().unwrap_or_default();
        let errors = String::from_utf8_lossy(&errors).into_owned();
        let last = errors.trim().lines().last().unwrap_or_default();
        format!("no JSON, {status}; {last}")
    })
}

/// Reads a pipe to its end on a thread of its own, so that no pipe blocks the other.
fn read_aside(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What could be read still says more than nothing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        // The receiver is gone after a time-out.
        let _ = tx.send(bytes);
    });
    rx
}
