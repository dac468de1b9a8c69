//! A chat on the terminal with an agent that keeps notes: `cargo run --example assistant`.
//!
//! Without an API key the agent answers from a script. With an API key, or with a server that has OpenAI's chat
//! completions API, it asks a model:
//!
//! ```console
//! $ OPENAI_API_KEY=… cargo run --example assistant
//! $ OPENAI_BASE_URL=http://localhost:8000/v1 cargo run --example assistant -- --model openai:qwen3
//! ```
//!
//! Every message and step is an event in an SQLite file, so a chat can be continued at any time with `--session ID`.
//! Ctrl-C stops the current answer, Ctrl-D ends the program. Input may also come through a pipe, with one message per
//! line.
//!
//! Read [`agent`] first: it has the agent and its tools. [`chat`] shows a run and asks its questions.

mod agent;
mod args;
mod chat;
#[path = "../choose_model.rs"]
mod choose_model;
mod offline;
mod terminal;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use pleach::BoxError;
use pleach::model::Model;
use pleach::prelude::*;

use args::Args;
use chat::{Chat, Next};
use choose_model::choose_model;
use offline::Offline;
use terminal::{Line, Terminal};

/// The result of a step; an error ends the program. Failures of single answers are shown, and the chat continues.
type Result<T, E = BoxError> = std::result::Result<T, E>;

const HELP: &str = "\
/help     show this list
/history  show the messages of this chat
/new      start another chat
/quit     end the program, like Ctrl-D
Ctrl-C stops the current answer.";

// The runtime has several threads, so that connections can close while this thread waits for the keyboard.
#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("assistant: {}", pleach::with_causes(&*error));
            ExitCode::from(2)
        }
    }
}

/// Chats until the input ends. Returns whether every message got an answer.
async fn run() -> Result<bool> {
    let Some(args) = Args::parse()? else {
        Terminal::plain().line(args::USAGE)?;
        return Ok(true);
    };
    let chosen = choose_model(args.model.as_deref())?;
    let is_offline = chosen.is_none();
    let model = chosen.unwrap_or_else(|| Arc::new(Offline));
    let runner = Runner::builder("assistant").root(agent::assistant(Arc::clone(&model))?);
    let runner = runner.sessions(connect(&args.db).await?).build()?;

    let mut chat = Chat::new(runner, Terminal::open(args.history_file())?, args.session.clone());
    let asked = if is_offline { "a script, because there is no model: say `help`" } else { model.name() };
    chat.terminal.line(&format!("Chat {} with {asked}. /help shows the commands.", chat.session()))?;
    chat.show_last_messages().await?;
    let mut result = converse(&mut chat).await;
    let farewell = format!("Continue with --session {}", chat.session());
    result = result.and(chat.terminal.line(&farewell));
    let all_answered = chat.close().await?;
    result.map(|()| all_answered)
}

async fn converse(chat: &mut Chat) -> Result<()> {
    // Questions that an earlier process has left open come first.
    let mut next = chat.settle_questions().await?;
    while next == Next::Message {
        let line = match chat.terminal.read("> ")? {
            Line::Text(line) => line,
            Line::Interrupted => {
                chat.terminal.line("(Ctrl-D or /quit ends the program)")?;
                continue;
            }
            Line::End => break,
        };
        next = match line.trim() {
            "" => Next::Message,
            "/help" => shown(chat.terminal.line(HELP))?,
            "/history" => shown(chat.show_history().await)?,
            "/new" => shown(chat.start_anew())?,
            "/quit" => Next::End,
            command if command.starts_with('/') => {
                shown(chat.terminal.line(&format!("unknown command {command}; /help shows the commands")))?
            }
            message => chat.say(message).await?,
        };
    }
    Ok(())
}

fn shown(result: Result<()>) -> Result<Next> {
    result.map(|()| Next::Message)
}

/// Returns true if the reader of our output has closed the pipe, as `head` does. This is not an error.
fn is_closed_pipe(error: &BoxError) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
