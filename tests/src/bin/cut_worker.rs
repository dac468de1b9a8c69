//! Works on one session until it is killed.
//!
//! `cut-worker URL JOB`, where JOB is
//! - `fork ID`: copies the session to a new one with this id;
//! - `rewind`: rewinds the session to before a node and continues it, again and again;
//! - `compute`: continues the session of an earlier process, or begins it with the message `7`;
//! - `queue FROM TO`: continues the session of an earlier process, and then sends the messages with these numbers all
//!   at once. The first message keeps the session busy, and the others wait;
//! - `ask ID`: runs the session with this id to its question;
//! - `charge`: charges at a bank that does not work, and waits for the next attempt.
//!
//! It writes a line when it begins and after each part of its work, and ends when it is done. If anything fails, the exit status is 1 and
//! standard error has a message.

use std::io::Write as _;
use std::process::ExitCode;

use pleach::prelude::*;
use pleach::{RunProgress, RunRequest, SessionId};
use pleach_tests::runs::{chain, charge, compute, continue_run, patient, process, say, session, talk};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match work().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cut-worker: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn work() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [url, "fork", id] => fork(process(url, talk()?).await?, id).await,
        [url, "rewind"] => rewind(process(url, chain()?).await?).await,
        [url, "compute"] => compute_all(process(url, compute()?).await?).await,
        [url, "queue", from, to] => queue(process(url, say()?).await?, from.parse()?..=to.parse()?).await,
        [url, "ask", id] => ask(process(url, patient()?).await?, id).await,
        [url, "charge"] => charge_in_vain(process(url, charge(false)?).await?).await,
        _ => anyhow::bail!("name a database and a job"),
    }
}

async fn fork(runner: Runner, id: &str) -> anyhow::Result<()> {
    let source = runner.sessions().get_session(&session(), Default::default()).await?;
    let last = source.and_then(|source| Some(source.events.last()?.id().clone()));
    let last = last.ok_or_else(|| anyhow::anyhow!("the session has no event"))?;
    say_line("begun")?;
    runner.fork("ana", "s1", last, Some(SessionId::from(id))).await?;
    say_line("done")
}

async fn rewind(runner: Runner) -> anyhow::Result<()> {
    say_line("begun")?;
    loop {
        continue_run(&runner).await?;
        say_line("done")?;
        runner.rewind_before(session(), "wf@1/middle@1").await?;
        say_line("rewound")?;
    }
}

async fn compute_all(runner: Runner) -> anyhow::Result<()> {
    say_line("begun")?;
    let is_new = match runner.status(session()).await {
        Err(RunError::SessionNotFound(_)) => true,
        status => matches!(status?.progress, RunProgress::New),
    };
    if is_new {
        drop(runner.run("ana", "s1", "7").output::<String>().await?)
    } else {
        continue_run(&runner).await?
    }
    say_line("done")
}

async fn queue(runner: Runner, numbers: std::ops::RangeInclusive<usize>) -> anyhow::Result<()> {
    continue_run(&runner).await?;
    say_line("begun")?;
    let queued = |number: usize| RunRequest::new(session()).message(number.to_string()).queue(true);
    let runs: Vec<_> = numbers.map(|number| (number, runner.start(queued(number)).detach())).collect();
    for (number, run) in runs {
        run.invocation_id().await?;
        say_line(number)?;
        run.await?;
    }
    say_line("done")
}

async fn ask(runner: Runner, id: &str) -> anyhow::Result<()> {
    let mut run = runner.run("ana", id, "go");
    while let Some(event) = run.next().await {
        event?;
    }
    say_line("asked")?;
    std::future::pending().await
}

async fn charge_in_vain(runner: Runner) -> anyhow::Result<()> {
    let mut run = runner.run("ana", "s1", "go");
    while let Some(event) = run.next().await {
        say_line(event?.error_code().unwrap_or_default())?;
    }
    say_line("done")
}

/// Writes a line in one piece, so the pipe contains the whole line or nothing of it.
fn say_line(line: impl std::fmt::Display) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    Ok(out.flush()?)
}
