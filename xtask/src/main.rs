//! All automation of the workspace, called as `cargo xtask COMMAND`.
//!
//! Owns the order of the checks and how their results are reported. It depends on
//! no pleach crate, so it still runs when the workspace does not compile.

#![expect(clippy::print_stdout, reason = "a command line tool talks on standard output")]
#![expect(
    clippy::disallowed_methods,
    reason = "the tool measures its own steps; there is no invocation whose clock it could use"
)]

mod adk;
mod bench;
mod cargo;
mod conformance;
mod docs;
mod files;
mod layers;
mod lint;
mod postgres;
mod report;
mod survey;
mod test_all;
mod tidy;
mod workspace;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  test-all [--only STEP,STEP] [--require postgres]
                          every check; ends with a table and one closing line
  tidy                    layers, file sizes, module headers, forbidden words
  survey [CRATE]          measures of each crate: public items, import circles, lengths, words;
                          of one crate also what they are made of
  lint                    clippy over everything, warnings are errors
  docs                    rustdoc of the workspace, warnings are errors
  conformance [FILTER]    the recorded scenarios on every backend that needs no server
  bench [ARGS]            the benchmark program of pleach-benches, in release mode
  postgres up | down      a throw-away local server: start it and print its URL; stop it
  help                    this text

Steps of test-all, in order:
  ";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one command; `Ok(false)` when it ran and found something wrong.
fn run(args: &[String]) -> anyhow::Result<bool> {
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", args),
    };
    match command {
        "test-all" => test_all::run(rest),
        "tidy" => no_args(command, rest).and_then(|()| tidy::run()),
        "survey" => match rest {
            [] => survey::run(None),
            [name] => survey::run(Some(name)),
            [_, extra, ..] => anyhow::bail!("`survey` takes one crate at most, found `{extra}`"),
        },
        "lint" => no_args(command, rest).and_then(|()| lint::run()),
        "docs" => no_args(command, rest).and_then(|()| docs::run()),
        "conformance" => conformance::run(rest),
        "bench" => bench::run(rest),
        "postgres" => postgres::run(rest),
        "help" | "--help" | "-h" => {
            println!("{HELP}{}", test_all::step_names().join(" "));
            Ok(true)
        }
        other => anyhow::bail!("unknown command `{other}`; see `cargo xtask help`"),
    }
}

fn no_args(command: &str, rest: &[String]) -> anyhow::Result<()> {
    match rest.first() {
        None => Ok(()),
        Some(extra) => anyhow::bail!("`{command}` takes no argument, found `{extra}`"),
    }
}
