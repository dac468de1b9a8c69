//! One trace across pause and resume, and metrics: `cargo run --example traced -- ask`, then `cargo run --example traced -- answer yes`.
//!
//! The first process runs a workflow up to a question, and ends. The second process answers the question, and its spans
//! belong to the trace of the first. Both print what they export. A real program sets no exporters: its spans and
//! metrics go to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names.

mod printer;

use pleach::Run;
use pleach::otel::Otel;
use pleach::prelude::*;
use printer::Printer;
use tracing::{Instrument as _, info_span};

const FILE: &str = "sqlite:///traced.db";

/// Asks a person for approval.
async fn approve() -> RequestInput {
    RequestInput::ask("ok", "Ship order 1007?")
}

async fn ship(answer: Input<String>) -> String {
    format!("shipped: {}", answer.0)
}

async fn finish(mut run: Run) -> Result<()> {
    while let Some(event) = run.next().await {
        event?;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let otel = Otel::builder().service_name("traced").span_exporter(Printer).metric_exporter(Printer).install()?;
    let mut wf = Workflow::builder("orders");
    let (approve, ship) = (wf.node("approve", approve), wf.node("ship", ship));
    wf.edge(START, approve).edge(approve.dynamic(), ship);
    let sessions = connect(FILE).await?;
    let runner = otel.build(Runner::builder("traced").root(wf.build()?).sessions(sessions))?;
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let run = match args[..] {
        ["ask"] => runner.run("ana", "s1", "Order 1007"),
        ["answer", answer] => runner.answer(("ana", "s1"), "ok", answer)?,
        _ => return Err(Fail::msg("call it with `ask`, then with `answer yes`")),
    };
    // As in a web server, each request has its own trace, which is linked to the invocation that it starts or answers.
    finish(run).instrument(info_span!("request")).await?;
    runner.close().await?;
    otel.shutdown()?;
    Ok(())
}
