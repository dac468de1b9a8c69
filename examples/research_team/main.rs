//! A team of agents that researches a question: `cargo run --example research_team -- "How do otters keep warm?"`.
//!
//! The coordinator calls a tool that is a workflow: it searches for several queries in parallel, and ranks the results.
//! Then the coordinator asks an analyst to judge the findings, and hands over to a writer. Every step is printed,
//! indented by the depth of its node. The report comes last.
//!
//! ```text
//! coordinator (root, LlmAgent)
//! ├─ search    (Workflow, a tool): queries ─► look_up, once for each query, side by side ─► rank
//! ├─ analyst   (LlmAgent, single turn: called like a tool)
//! └─ writer    (LlmAgent, gets the conversation by transfer)
//! ```
//!
//! Without an API key all agents answer from scripts. With an API key, or with `--model NAME`, they share a model.
#![expect(clippy::print_stdout, reason = "examples print what they do")]

#[path = "../choose_model.rs"]
mod choose_model;
mod corpus;
mod scripts;
mod search;
mod team;
mod trace;

use std::process::ExitCode;

use lexopt::{Arg, ValueExt as _};
use pleach::BoxError;
use pleach::prelude::*;

use choose_model::choose_model;

const USAGE: &str = "\
A team of agents that researches a question in a small collection of texts.

usage: research_team [--model NAME] [QUESTION...]

  --model NAME  such as openai:gpt-5-mini, or scripted (default: from the environment, otherwise scripted)";

const QUESTION: &str = "How do sea otters keep warm?";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("research_team: {}", pleach::with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), BoxError> {
    let (mut model, mut words) = (None, Vec::new());
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("model") => model = Some(parser.value()?.string()?),
            Arg::Long("help") | Arg::Short('h') => {
                println!("{USAGE}");
                return Ok(());
            }
            Arg::Value(word) => words.push(word.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    let question = if words.is_empty() { QUESTION.to_owned() } else { words.join(" ") };
    let team = team::coordinator(choose_model(model.as_deref())?)?;
    let runner = Runner::builder("research_team").root(team).build()?;

    println!("{question}\n");
    let mut run = runner.run("ana", "s1", question);
    let mut report = String::new();
    while let Some(event) = run.next().await {
        let event = event?;
        for line in trace::lines(&event) {
            println!("{line}");
        }
        if event.is_final_response() && !event.text().is_empty() {
            report = event.text();
        }
    }
    println!("\n{report}");
    Ok(runner.close().await?)
}
