//! Runs the example `assistant` as a program: on a pseudo-terminal with a model server on loopback, and through pipes.
#![cfg_attr(unix, expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails"))]

#[path = "../example/mod.rs"]
mod example;
mod piped;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod terminal;

use std::path::Path;
use std::process::Command;

/// The environment variables that would choose a model.
const KEYS: [&str; 9] = [
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "OLLAMA_HOST",
    "OLLAMA_API_KEY",
];

/// Returns the command for the example in a folder. It does not inherit API keys from the environment.
fn assistant(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(example::program("assistant"));
    command.args(args).current_dir(folder);
    for key in KEYS {
        command.env_remove(key);
    }
    command
}
