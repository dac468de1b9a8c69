//! Redacts events of one session, one after the other.
//!
//! `redact-worker URL FOLDER EVENT…`: removes the secrets from these events of the session `s1` of the user `ana`, whose payloads are in
//! FOLDER. Prints `ready` when the database is open, waits for a line on standard input, and then prints the id of each event
//! after its redaction. If anything fails, the exit status is 1 and standard error has a message.

use std::io::Write as _;
use std::process::ExitCode;

use pleach::SessionServiceExt as _;
use pleach_tests::redactions::{key, open, redaction};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match work().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("redact-worker: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn work() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &str| arguments.next().ok_or_else(|| anyhow::anyhow!("name {what}"));
    let sessions = open(&next("the database")?, next("the folder")?.as_ref()).await?;
    say("ready")?;
    std::io::stdin().read_line(&mut String::new())?;
    for event in arguments {
        sessions.redact(&key(), &event.as_str().into(), &redaction()).await?;
        say(&event)?;
    }
    Ok(())
}

fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
