//! Appends to sessions that other processes may append to as well.
//!
//! `session-worker --url=URL --writer=NAME [--app=APP] [--user=USER] [--prefix=SESSION] [--sessions=COUNT]
//! [--appends=COUNT] [--keys=COUNT] [--on-stale=fail|skip|retry] [--paced]` waits for a line on standard input. Then it
//! opens the sessions SESSION0, SESSION1 … and appends to all of them at once, without end if `--appends` is not set.
//! Each line on standard output reports one event (`stored NAME/SESSION0/0`), and is not lost if the process is killed
//! right after it. With `--paced` every append waits for another line on standard input. If anything fails, the exit
//! status is 1 and standard error has a message.

use std::io::{Error, ErrorKind, Write as _};
use std::process::ExitCode;

use pleach_tests::worker::{Job, Parent, Report, work};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("session-worker: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let job = Job::parse(lexopt::Parser::from_env())?;
    Pipes.wait()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let service = pleach::connect(&job.url).await?;
        work(&*service, &job, &Pipes).await?;
        Ok(service.close().await?)
    })
}

/// The parent at the other end of standard input and output.
struct Pipes;

impl Parent for Pipes {
    fn report(&self, report: &Report) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        // The line is written in one piece, so it is in the pipe as a whole or not at all.
        out.write_all(format!("{report}\n").as_bytes())?;
        out.flush()
    }

    fn wait(&self) -> std::io::Result<()> {
        let mut line = String::new();
        match std::io::stdin().read_line(&mut line)? {
            0 => Err(Error::new(ErrorKind::UnexpectedEof, "the parent is gone")),
            _ => Ok(()),
        }
    }
}
