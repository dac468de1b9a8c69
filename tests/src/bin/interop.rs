//! Reads and writes session databases for other programs: `interop dump`, `interop load`, `interop append`.
//!
//! The program prints its answer as JSON on standard output, and errors on standard error. The exit status is 0 for
//! success, 1 for a failure and 2 for a wrong call. For `append` it is also 3 if the session is stale and nothing was
//! written, and 4 if there is no such session.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use pleach_tests::interop::{Call, USAGE};

/// The exit status of a call without an operation or without the arguments of its operation.
const WRONG_CALL: u8 = 2;

fn main() -> ExitCode {
    let call = match Call::parse(std::env::args_os().skip(1)) {
        Ok(call) => call,
        Err(error) => {
            eprintln!("interop: {error:#}\n{USAGE}");
            return ExitCode::from(WRONG_CALL);
        }
    };
    match run(&call) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("interop: {error:#}");
            ExitCode::from(call.status(&error))
        }
    }
}

fn run(call: &Call) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answer = runtime.block_on(call.run())?;
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, &answer)?;
    writeln!(out).context("cannot write the answer")
}
