//! A tool that needs a person's approval, across several processes: `cargo run --example approval -- order 40 chairs`.
//!
//! One process starts a run. The agent calls a tool that may not run without approval. So the run pauses, its question
//! is stored in an SQLite file, and the process ends. Any other process can list and answer the question, at any time:
//!
//! ```console
//! $ cargo run --example approval -- order 40 chairs
//! $ cargo run --example approval -- inbox
//! $ cargo run --example approval -- answer ID yes
//! ```
//!
//! The run continues in the process that answers. The tool runs there, once, and writes a line to `purchases.txt`.
//! Without an API key the agent answers from a script. With an API key, or with `--model NAME`, it asks a model.
#![expect(clippy::print_stdout, reason = "examples print what they do")]

mod args;
mod buyer;
#[path = "../choose_model.rs"]
mod choose_model;

use std::process::ExitCode;

use pleach::prelude::*;
use pleach::{AnswerOptions, BoxError, IdGen as _, InboxItem, RandomIds, Run};
use serde_json::json;

use args::{Action, Args};
use choose_model::choose_model;

const USER: &str = "ana";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("approval: {}", pleach::with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), BoxError> {
    let Args { db, model, action } = Args::parse()?;
    if action == Action::Help {
        println!("{}", args::USAGE);
        return Ok(());
    }
    // Every process opens the same sessions and has the same agent.
    let buyer = buyer::agent(choose_model(model.as_deref())?)?;
    let runner = Runner::builder("approval").root(buyer).sessions(connect(&db).await?).build()?;
    let done = match action {
        Action::Help => Ok(()),
        Action::Order(text) => order(&runner, &db, &text).await,
        Action::Inbox => show_inbox(&runner).await,
        Action::Answer(id, yes) => answer(&runner, &id, yes).await,
    };
    runner.close().await?;
    done
}

/// Starts a run, and leaves its questions in the inbox.
async fn order(runner: &Runner, db: &str, text: &str) -> Result<(), BoxError> {
    let session = RandomIds.uuid().to_string();
    follow(runner.run(USER, session.as_str(), text)).await?;
    let option = if db == args::DB { String::new() } else { format!("--db {db} ") };
    for question in runner.questions((USER, session.as_str())).await? {
        println!("It waits for approval. Any process can answer:");
        println!("    cargo run --example approval -- {option}answer {} yes", question.id);
    }
    Ok(())
}

async fn show_inbox(runner: &Runner) -> Result<(), BoxError> {
    let inbox = runner.inbox_of_all_users().await?;
    for item in &inbox {
        println!("{}  {}: {}", item.question.id, item.session.user_id, wish(item));
    }
    println!("{} to answer", inbox.len());
    Ok(())
}

/// Answers a question. The run that asked it continues in this process, after its stored events.
async fn answer(runner: &Runner, id: &str, yes: bool) -> Result<(), BoxError> {
    let inbox = runner.inbox_of_all_users().await?;
    let item = inbox.into_iter().find(|item| item.question.id == id);
    let item = item.ok_or_else(|| format!("no open question has the id {id}; `inbox` lists the open ones"))?;
    println!("{}: {}", if yes { "Approved" } else { "Refused" }, wish(&item));
    // Two processes may have found the question open. The answer of the second process is refused.
    let options = AnswerOptions::new().only_if_open(true);
    follow(runner.answer_with(item.session, [(item.question, json!({"confirmed": yes}))], options)?).await
}

/// Returns the call that waits for approval, as text.
fn wish(item: &InboxItem) -> String {
    let call = item.question.payload.as_ref().map(|payload| &payload["originalFunctionCall"]);
    call.map_or_else(|| item.question.message.clone(), |call| format!("{} {}", call["name"], call["args"]))
}

/// Prints what the agent says and does.
async fn follow(mut run: Run) -> Result<(), BoxError> {
    while let Some(event) = run.next().await {
        let event = event?;
        if event.is_interrupt() || !event.actions().requested_tool_confirmations().is_empty() {
            continue; // This is the question, which the inbox shows.
        }
        for call in event.function_calls() {
            println!("  * {} {}", call.name.as_deref().unwrap_or_default(), json!(call.args));
        }
        for result in event.function_responses() {
            println!("  = {}", json!(result.response));
        }
        if !event.text().is_empty() {
            println!("{}", event.text());
        }
        if let Some(code) = event.error_code() {
            println!("! {code}"); // the reason why the answer is missing or incomplete
        }
    }
    Ok(())
}
