//! Runs a Rust program of docs/from-google-adk.md: `cargo run --example from_google_adk -- a_tool`.
//!
//! Without a name it lists the programs. Their code is only on the page.
#![expect(clippy::print_stdout, reason = "examples print what they do")]

use std::process::ExitCode;

/// A program of the page.
type Program = fn() -> pleach::Result<()>;

include!(concat!(env!("OUT_DIR"), "/from_google_adk.rs"));

fn main() -> ExitCode {
    let Some(name) = std::env::args().nth(1) else {
        for (name, _) in PROGRAMS {
            println!("{name}");
        }
        return ExitCode::SUCCESS;
    };
    let Some((_, run)) = PROGRAMS.iter().find(|(program, _)| *program == name) else {
        eprintln!("from_google_adk: the page has no program `{name}`; without a name they are listed");
        return ExitCode::from(2);
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error:?}");
            ExitCode::FAILURE
        }
    }
}
