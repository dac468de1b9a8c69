//! An agent that reads files through an MCP server: `cargo run --example mcp_files`.
//!
//! The server runs as a child process. By default it is the reference server for files, which `npx` downloads from the
//! npm registry the first time. The command line can name another server and another folder:
//!
//! ```console
//! $ cargo run --example mcp_files -- --folder ~/notes "What do I know about Oslo?"
//! $ cargo run --example mcp_files -- --server "node server-filesystem/dist/index.js"
//! ```
//!
//! The folder is the last argument of the server's command. Without an API key the agent answers from a script: it
//! lists the files, reads the one that the question names, and repeats it. With a key, or with `--model NAME`, it asks
//! a model.
#![expect(clippy::print_stdout, reason = "examples print what they do")]

#[path = "../choose_model.rs"]
mod choose_model;
mod script;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use lexopt::{Arg, ValueExt as _};
use pleach::mcp::{McpCommand, McpToolset};
use pleach::prelude::*;
use pleach::{BoxError, Event};
use serde_json::{Value, json};

use choose_model::choose_model;

const USAGE: &str = "\
An agent that reads files through an MCP server.

usage: mcp_files [--folder FOLDER] [--server COMMAND] [--model NAME] [QUESTION...]

  --folder FOLDER   the folder with the files (default: the notes of this example)
  --server COMMAND  the server, without the folder (default: npx -y @modelcontextprotocol/server-filesystem)
  --model NAME      such as openai:gpt-5-mini, or scripted (default: from the environment, otherwise scripted)";

const QUESTION: &str = "What do my notes say about Oslo?";
const NOTES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/mcp_files/notes");
const SERVER: &str = "npx -y @modelcontextprotocol/server-filesystem";

/// The parsed command line.
struct Args {
    folder: PathBuf,
    server: String,
    model: Option<String>,
    question: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mcp_files: {}", pleach::with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), BoxError> {
    let Some(args) = parse()? else {
        println!("{USAGE}");
        return Ok(());
    };
    // The server names files by their real paths.
    let folder = args.folder.canonicalize().map_err(|error| format!("{}: {error}", args.folder.display()))?;
    let folder = folder.to_str().ok_or("the path of the folder is not UTF-8")?.to_owned();
    let mut words = args.server.split_whitespace();
    let command = McpCommand::new(words.next().unwrap_or_default()).args(words).arg(&folder);
    // The tools that write are left out: the model sees only the tools that `only` names.
    let files = McpToolset::builder(command).only(["list_directory", "read_text_file"]).build()?;
    // If the server cannot be started, the agent would run without its tools. It has no other tools here, so fail
    // early.
    files.list_tools(None).await?;

    let model = choose_model(args.model.as_deref())?;
    let reader = LlmAgent::builder("reader")
        .model(model.unwrap_or_else(|| Arc::new(script::reader(folder.clone()))))
        .instruction(format!("Answer by the files in {folder}. Read what you need; do not guess."))
        .toolset(files)
        .build()?;
    let runner = Runner::builder("mcp_files").root(reader).build()?;
    let mut run = runner.run("ana", "s1", args.question.as_str());
    println!("{}", args.question);
    while let Some(event) = run.next().await {
        show(&*event?);
    }
    // Closing also ends the server.
    Ok(runner.close().await?)
}

fn parse() -> Result<Option<Args>, BoxError> {
    let mut args = Args { folder: NOTES.into(), server: SERVER.to_owned(), model: None, question: QUESTION.to_owned() };
    let mut words = Vec::new();
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("folder") => args.folder = parser.value()?.into(),
            Arg::Long("server") => args.server = parser.value()?.string()?,
            Arg::Long("model") => args.model = Some(parser.value()?.string()?),
            Arg::Long("help") | Arg::Short('h') => return Ok(None),
            Arg::Value(word) => words.push(word.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    if !words.is_empty() {
        args.question = words.join(" ");
    }
    Ok(Some(args))
}

/// Prints what the agent says and does.
fn show(event: &Event) {
    for call in event.function_calls() {
        println!("  * {} {}", call.name.as_deref().unwrap_or_default(), json!(call.args));
    }
    for result in event.function_responses() {
        // An MCP result is a list of contents. This server sends only texts.
        let contents = result.response.as_ref().and_then(|response| response.get("content")?.as_array());
        let texts = contents.into_iter().flatten().filter_map(|content| content["text"].as_str());
        let text: Vec<&str> = texts.flat_map(str::lines).collect();
        if text.is_empty() {
            println!("  = {}", Value::from(result.response.clone().unwrap_or_default()))
        } else {
            println!("  = {}", text.join(" | "))
        }
    }
    if !event.text().is_empty() {
        println!("{}", event.text());
    }
    if let Some(code) = event.error_code() {
        println!("! {code}"); // the reason why the answer is missing or incomplete
    }
}
