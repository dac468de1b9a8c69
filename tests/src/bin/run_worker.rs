//! Runs one session of a workflow to its end, or continues it after an earlier process.
//!
//! `run-worker URL` starts or resumes the run of the session `s1` of the user `ana`, and starts the timers. Then it
//! sends a signal for each line `NAME KEY PAYLOAD` on standard input, where KEY is the idempotency key and PAYLOAD is
//! JSON. It answers each line on standard output with `delivered`, `kept`, `repeated` or `error CLASS`. Its last line
//! is `done OUTPUT`. If anything else fails, the exit status is 1 and standard error has a message.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use pleach::prelude::*;
use pleach::{RunProgress, RunRequest, SignalOptions, SignalOutcome};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// The interval between two checks of the run's progress.
const PAUSE: Duration = Duration::from_millis(10);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match work().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("run-worker: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A handler that charges, sleeps, waits for the first of three branches, ships, and waits for two signals.
async fn order(ctx: Context) -> Result<Value> {
    let charged: u32 = ctx.step("charge", async || Ok(1)).await?;
    ctx.sleep(Duration::from_millis(20)).await?;
    let select = ctx.select().ask("ok", "Ship?", |yes: bool| json!({ "decided": yes }));
    let select = select.sleep(Duration::from_millis(60), || json!("late"));
    let next = select.signal("cancel", |reason: String| json!({ "cancelled": reason })).await?;
    let shipped: u32 = ctx.step("ship", async || Ok(2)).await?;
    let (first, second): (u32, u32) = (ctx.wait_for_signal("scan").await?, ctx.wait_for_signal("scan").await?);
    let late: Option<bool> = ctx.ask_within("happy", "Happy?", Duration::from_millis(20)).await?;
    Ok(json!([charged, next, shipped, first, second, late]))
}

async fn runner(url: &str) -> anyhow::Result<Runner> {
    let mut wf = Workflow::builder("wf");
    let order = wf.add(FunctionNode::new("order", order).rerun_on_resume(true));
    wf.edge(START, order);
    Ok(Runner::builder("t").root(wf.build()?).sessions(connect(url).await?).build()?)
}

async fn work() -> anyhow::Result<()> {
    let url = std::env::args().nth(1).ok_or_else(|| anyhow::anyhow!("name the database"))?;
    let runner = runner(&url).await?;
    recover(&runner).await?;
    runner.start_timers();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    loop {
        tokio::select! {
            line = lines.next_line() => answer(&runner, line?).await?,
            () = tokio::time::sleep(PAUSE) => {}
        }
        let Ok(status) = runner.status(("ana", "s1")).await else { continue };
        if matches!(status.progress, RunProgress::Done) {
            // The run has ended, so its recorded output is returned.
            let output: Value = runner.start(started()).output().await?;
            say(format_args!("done {output}"))?;
            return Ok(runner.close().await?);
        }
    }
}

/// Starts the run, or resumes the run of an earlier process.
async fn recover(runner: &Runner) -> anyhow::Result<()> {
    let run = match runner.status(("ana", "s1")).await {
        Err(RunError::SessionNotFound(_)) => started(),
        Err(error) => return Err(error.into()),
        Ok(status) => match (status.progress, status.invocation) {
            (RunProgress::New, _) => started(),
            (RunProgress::Unfinished, Some(invocation)) => RunRequest::new(("ana", "s1")).invocation_id(invocation),
            _ => return Ok(()),
        },
    };
    runner.start(run).detach().invocation_id().await?;
    Ok(())
}

fn started() -> RunRequest {
    RunRequest::new(("ana", "s1")).message("go").invocation_id("e-1")
}

async fn answer(runner: &Runner, line: Option<String>) -> anyhow::Result<()> {
    let line = line.ok_or_else(|| anyhow::anyhow!("the parent is gone"))?;
    let mut words = line.splitn(3, ' ');
    let mut word = || words.next().ok_or_else(|| anyhow::anyhow!("a line is too short: {line}"));
    let (name, key, payload) = (word()?, word()?, serde_json::from_str::<Value>(word()?)?);
    let options = SignalOptions::new().idempotency_key(key);
    match runner.signal_with(("ana", "s1"), name, payload, options).await {
        Ok(SignalOutcome::Delivered(_)) => say("delivered"),
        Ok(SignalOutcome::Kept) => say("kept"),
        Ok(SignalOutcome::Repeated) => say("repeated"),
        Ok(other) => anyhow::bail!("{other:?}"),
        Err(error) => say(format_args!("error {}", error.code())),
    }
}

/// Writes a line in one piece, so the pipe contains the whole line or nothing of it.
fn say(line: impl std::fmt::Display) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    Ok(out.flush()?)
}
