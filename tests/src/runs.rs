//! Workflows of processes that are killed in the middle of their work and continued by the next process. The program
//! `cut-worker` and the tests that kill it share them.

use std::io::Write as _;
use std::time::Duration;

use pleach::prelude::*;
use pleach::{BuildError, RunProgress, SessionKey};
use serde_json::{Value, json};

/// The number of messages that the node of [`talk`] writes before the next node asks.
pub const MESSAGES: usize = 120;

/// The number of numbers that a node of [`compute`] hashes, each in a step.
pub const NUMBERS: u64 = 12;

/// The time for which the question of [`patient`] stays open.
pub const LIMIT: Duration = Duration::from_millis(1_300);

/// The session of all workflows.
#[must_use]
pub fn session() -> SessionKey {
    SessionKey::new("t", "ana", "s1")
}

/// Opens a database and makes the Runner of a new process over it.
///
/// # Errors
/// The database cannot be opened.
pub async fn process(url: &str, root: Workflow) -> anyhow::Result<Runner> {
    Ok(Runner::builder("t").root(root).sessions(connect(url).await?).build()?)
}

/// A workflow that writes many messages, asks `q` and outputs the answer.
///
/// # Errors
/// None: the graph has no fault.
pub fn talk() -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("wf");
    let talk = wf.node("talk", async |ctx: Context| -> Result<usize> {
        for number in 0..MESSAGES {
            ctx.emit(Event::message(number.to_string())).await?;
        }
        Ok(MESSAGES)
    });
    let ask = wf.node("ask", async || RequestInput::<String>::ask("q", "Well?"));
    let done = wf.node("done", async |Input(answer): Input<String>| answer);
    wf.edge(START, talk).edge(talk, ask.dynamic()).edge(ask, done);
    wf.build()
}

/// A workflow of three nodes that set state.
///
/// # Errors
/// None: the graph has no fault.
pub fn chain() -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", async || Event::of(1).with_state("first", true));
    let middle = wf.node("middle", async |_: Input<u32>| Event::of(2).with_state("middle", true));
    let last = wf.node("last", async |Input(two): Input<u32>| Event::of(21 * two).with_state("last", true));
    wf.edge(START, first).edge(first.dynamic(), middle).edge(middle.dynamic(), last);
    wf.build()
}

/// A workflow that computes hashes on the thread pool. It hashes the message in a blocking node, and then further
/// numbers, each in a step.
///
/// # Errors
/// None: the graph has no fault.
pub fn compute() -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("wf");
    let parse = wf.node_blocking("parse", |Input(text): Input<String>| {
        let number: u64 = text.parse()?;
        Ok::<_, std::num::ParseIntError>(hashed(number))
    });
    let sum = FunctionNode::new("sum", async |ctx: Context, Input(start): Input<u64>| -> Result<String> {
        let mut sum = 0_u64;
        for number in 0..NUMBERS {
            let step = Step::new("hash").key(number.to_string());
            let hashed: u64 = ctx.step(step, async || Ok(ctx.blocking(move || hashed(start ^ number)).await?)).await?;
            sum = sum.wrapping_add(hashed);
        }
        Ok(sum.to_string())
    });
    let sum = wf.add(sum.rerun_on_resume(true));
    wf.edge(START, parse).edge(parse, sum);
    wf.build()
}

/// The output of [`compute`] for a message.
#[must_use]
pub fn computed(message: u64) -> Value {
    let start = hashed(message);
    json!((0..NUMBERS).map(|number| hashed(start ^ number)).fold(0_u64, u64::wrapping_add).to_string())
}

/// Computes a hash for about a millisecond. The result fits into the JSON numbers of any reader.
fn hashed(number: u64) -> u64 {
    (0..40_000_u64).fold(number, |hash, round| (hash ^ round).wrapping_mul(0x0100_0000_01B3)) >> 12
}

/// A workflow that repeats its message.
///
/// # Errors
/// None: the graph has no fault.
pub fn say() -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("wf");
    let say = wf.node("say", async |Input(text): Input<String>| text);
    wf.edge(START, say);
    wf.build()
}

/// A workflow that asks for a limited time.
///
/// # Errors
/// None: the graph has no fault.
pub fn patient() -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("wf");
    let wait = FunctionNode::new("wait", async |ctx: Context| -> Result<Value> {
        let answer: Option<bool> = ctx.ask_within("ok", "Pay?", LIMIT).await?;
        Ok(json!([answer]))
    });
    let wait = wf.add(wait.rerun_on_resume(true));
    wf.edge(START, wait);
    wf.build()
}

/// A workflow that charges in a step, whose result is the idempotency key. If the bank does not work, the step writes
/// the key to standard output and fails. The next attempt comes an hour later.
///
/// # Errors
/// None: the graph has no fault.
pub fn charge(bank_works: bool) -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("wf");
    let charge = FunctionNode::new("charge", move |ctx: Context| async move {
        let step = Step::new("pay").retry(RetryConfig::attempts(2).initial_delay(3_600.0).jitter(0.0));
        let pay = async || {
            let key = ctx.idempotency_key().to_string();
            if bank_works {
                return Ok(key);
            }
            writeln!(std::io::stdout(), "{key}")?;
            Err(Fail::msg("the bank is closed"))
        };
        Ok::<String, Fail>(ctx.step(step, pay).await?)
    });
    let charge = wf.add(charge.rerun_on_resume(true));
    wf.edge(START, charge);
    wf.build()
}

/// Continues the session that a process has left, to its end or its next pause.
///
/// # Errors
/// The run fails.
pub async fn continue_run(runner: &Runner) -> anyhow::Result<()> {
    let status = match runner.status(session()).await {
        Err(RunError::SessionNotFound(_)) => return Ok(()),
        status => status?,
    };
    if let (RunProgress::Unfinished | RunProgress::Failed { .. }, Some(invocation)) =
        (status.progress, status.invocation)
    {
        let mut run = runner.resume("ana", "s1", invocation);
        while let Some(event) = run.next().await {
            event?;
        }
    }
    Ok(())
}
