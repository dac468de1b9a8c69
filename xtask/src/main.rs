//! All automation of the workspace, called as `cargo xtask COMMAND`.
//!
//! This program runs the checks and reports their results. It depends on no pleach crate, so it still runs if the
//! workspace does not compile.

#![expect(clippy::print_stdout, reason = "a command line tool talks on standard output")]
#![expect(
    clippy::disallowed_methods,
    reason = "the tool measures its own steps; there is no invocation whose clock it could use"
)]

mod api;
mod bench;
mod cargo;
mod conformance;
mod docs;
mod files;
mod finding;
mod layers;
mod lint;
mod pages;
mod postgres;
mod quick;
mod report;
mod syntax;
mod test_all;
mod tidy;
mod tools;
mod workspace;
mod yanked;

use std::process::ExitCode;

use lexopt::Parser;
use lexopt::prelude::*;

const HELP: &str = "\
cargo xtask COMMAND

  test-all [--only STEP,STEP] [--require postgres]
                          every check; ends with a table and one closing line
  test [FILTER]           the quick tests: unit, runtime, contract in memory and on SQLite
  tidy                    layers, sizes, headers, rule ids, paths in documents, manifests
  api                     writes the snapshot of the public API in `api`; refuses a change that
                          CHANGELOG.md does not mention
  lint                    clippy over everything, warnings are errors
  docs                    the pages: dead links, table of contents, excerpts; the book, where mdbook is
                          installed; rustdoc of the workspace, warnings are errors
  conformance [FILTER]    the recorded scenarios on every backend that needs no server
  conformance [FILTER] --dump FOLDER
                          writes what each scenario stores, to be compared between versions
  bench [ARGS]            the benchmark program of pleach-benches, in release mode
  postgres up | down      a throw-away local server: start it and print its URL; stop it
  help                    this text

Steps of test-all, in order:
  ";

fn main() -> ExitCode {
    match run(Parser::from_env()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command. Returns false if it ran and found a fault.
fn run(mut args: Parser) -> anyhow::Result<bool> {
    let command = match args.next()? {
        None | Some(Long("help") | Short('h')) => "help".to_owned(),
        Some(Value(command)) => command.string()?,
        Some(other) => return Err(other.unexpected().into()),
    };
    match command.as_str() {
        "test-all" => test_all::run(&mut args),
        "test" => quick::run(&operands(&mut args, 1)?),
        "tidy" => operands(&mut args, 0).and_then(|_| tidy::run()),
        "api" => operands(&mut args, 0).and_then(|_| api::run()),
        "lint" => operands(&mut args, 0).and_then(|_| lint::run()),
        "docs" => operands(&mut args, 0).and_then(|_| docs::run()),
        "conformance" => conformance::run(&rest(&mut args)?),
        "bench" => bench::run(&rest(&mut args)?),
        "postgres" => postgres::run(&operands(&mut args, 1)?),
        "help" => {
            println!("{HELP}{}", test_all::step_names().join(" "));
            Ok(true)
        }
        other => anyhow::bail!("unknown command `{other}`; see `cargo xtask help`"),
    }
}

/// Reads the arguments of a command that accepts up to `most` arguments and no options.
fn operands(args: &mut Parser, most: usize) -> anyhow::Result<Vec<String>> {
    let mut operands = Vec::new();
    while let Some(arg) = args.next()? {
        match arg {
            Value(value) if operands.len() < most => operands.push(value.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(operands)
}

/// Returns the remaining arguments, which another program reads.
fn rest(args: &mut Parser) -> anyhow::Result<Vec<String>> {
    args.raw_args()?.map(|arg| Ok(arg.string()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_counted_and_options_are_refused() {
        let read = |args: &[&str], most| operands(&mut Parser::from_args(args), most);
        assert_eq!(read(&["up"], 1).expect("an operand"), ["up"]);
        assert_eq!(read(&[], 1).expect("none"), [] as [String; 0]);
        assert_eq!(read(&["up", "down"], 1).expect_err("too many").to_string(), "unexpected argument \"down\"");
        assert_eq!(read(&["--fast"], 1).expect_err("an option").to_string(), "invalid option '--fast'");
    }
}
