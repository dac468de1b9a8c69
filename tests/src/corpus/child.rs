//! Plays cases in child processes, a few at a time, each under a time limit.

use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::Case;
use crate::normalise::{Difference, compare};

/// The time limit of one scenario.
const LIMIT: Duration = Duration::from_secs(30);

/// The number of scenarios that run at once. They sleep more than they compute.
const JOBS: usize = 2;

/// Runs every case with `program` and compares the traces, in the order of `cases`.
///
/// If a process cannot be started, does not answer in time or prints no JSON, its case
/// has a difference.
pub fn run_all(program: &Path, cases: &[Case<'_>]) -> Vec<Vec<Difference>> {
    for_each(cases, |case| run_one(program, case))
}

/// Returns the events that `program` stores in each case, as lines of its option `--events`, or the reason why there are none.
pub fn stored_by_all(program: &Path, cases: &[Case<'_>]) -> Vec<Result<Vec<u8>, String>> {
    for_each(cases, |case| {
        let (lines, status, errors) = output(program, case, &["--events"])?;
        if status.success() { Ok(lines) } else { Err(errors) }
    })
}

/// Calls a function with every case, a few at a time. Returns the results in the order of the cases.
fn for_each<'a, T: Send>(cases: &[Case<'a>], call: impl Fn(&Case<'a>) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::from_iter(cases.iter().map(|_| None)));
    thread::scope(|scope| {
        for _ in 0..JOBS.min(cases.len()) {
            scope.spawn(|| {
                while let Some((index, case)) = take(&next, cases) {
                    let result = call(case);
                    if let Ok(mut results) = results.lock() {
                        results[index] = Some(result);
                    }
                }
            });
        }
    });
    let results = results.into_inner().expect("a worker that panicked has ended the scope already");
    results.into_iter().flatten().collect()
}

fn take<'c, 'a>(next: &AtomicUsize, cases: &'c [Case<'a>]) -> Option<(usize, &'c Case<'a>)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    cases.get(index).map(|case| (index, case))
}

/// Plays a case. If its trace differs and a slow disk may be the reason, the case is played once more. If pleach is
/// wrong, the trace differs each time.
fn run_one(program: &Path, case: &Case<'_>) -> Vec<Difference> {
    let found = run_once(program, case);
    if found.is_empty() || !case.depends_on_the_disk() { found } else { run_once(program, case) }
}

fn run_once(program: &Path, case: &Case<'_>) -> Vec<Difference> {
    match play(program, case) {
        Ok(trace) => compare(&case.scenario.golden, &trace),
        Err(what) => vec![Difference { path: "$".into(), golden: "a trace".into(), actual: what }],
    }
}

/// The trace that the program prints, or a description of the failure.
fn play(program: &Path, case: &Case<'_>) -> Result<Value, String> {
    let (answer, status, last) = output(program, case, &[])?;
    serde_json::from_slice(&answer).map_err(|_| format!("no JSON, {status}; {last}"))
}

/// The output of the program, its exit status, and its last line on standard error.
fn output(program: &Path, case: &Case<'_>, options: &[&str]) -> Result<(Vec<u8>, ExitStatus, String), String> {
    let mut command = Command::new(program);
    command.arg(&case.scenario.path);
    command.args(["--backend", &case.lane.backend]).args(options);
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
        // If the process has ended in the meantime, there is nothing to kill.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let Ok(answer) = answer else {
        return Err(format!("no answer within {} s", LIMIT.as_secs()));
    };
    let errors = stderr.recv().unwrap_or_default();
    let errors = String::from_utf8_lossy(&errors);
    Ok((answer, status, errors.trim().lines().last().unwrap_or_default().to_owned()))
}

/// Reads a pipe to its end on a separate thread, so that no pipe blocks the other.
fn read_aside(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A partial output is still useful.
            let _ = pipe.read_to_end(&mut bytes);
        }
        // After a time-out the receiver no longer exists.
        let _ = tx.send(bytes);
    });
    rx
}
