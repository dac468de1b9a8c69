//! The command `pleach`: inspects, answers, copies and migrates the sessions of a database that pleach or google-adk
//! writes, and creates projects.
//!
//! `docs/cli.md` describes the commands, their output and their exit codes.

mod answer;
mod args;
mod fault;
mod graph;
mod inbox;
mod left_out;
mod migrate;
mod new;
mod screen;
mod serve;
mod sessions;
mod store;
mod transfer;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use args::{Args, Command};
use fault::Fault;
use screen::Screen;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args = Args::parse();
    let mut screen = Screen::new(args.json);
    match run(args.command, &mut screen).await {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has closed the pipe; this is not an error.
        Err(Fault::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(fault) => {
            screen.complain(&fault);
            ExitCode::from(fault.exit_code())
        }
    }
}

async fn run(command: Command, screen: &mut Screen) -> Result<(), Fault> {
    match command {
        Command::Sessions(command) => sessions::run(command, screen).await,
        Command::Inbox(args) => inbox::run(args, screen).await,
        Command::Answer(args) => answer::run(args, screen).await,
        Command::Graph(args) => graph::run(args, screen).await,
        Command::Serve(args) => serve::run(args, screen).await,
        Command::New(args) => new::run(&args, screen),
        Command::Migrate(args) => migrate::run(args, screen).await,
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Args::command(), "pleach", &mut std::io::stdout());
            Ok(())
        }
    }
}
