//! Compares pleach with google-adk on random trees of agents. google-adk runs in the Python that
//! `PLEACH_TEST_ADK_PYTHON` names.
//!
//! `trees record` records google-adk's traces of the scenarios. `trees compare FROM TO` plays the scenarios with these
//! numbers with pleach and google-adk, and prints the differences. `trees show NUMBER` prints a scenario for the
//! program `conformance`.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use pleach_tests::normalise::differences;
use pleach_tests::trees::{RECORDED, Reference, block, file, played, scenario};

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("trees: {error:#}");
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stdout, reason = "the report of a program")]
fn run() -> anyhow::Result<bool> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &str| text.parse::<u64>().with_context(|| format!("`{text}` is not a number"));
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["record"] => record().map(|()| true),
        ["compare", from, to] => compare(number(from)?, number(to)?),
        ["show", wanted] => {
            println!("{:#}", scenario(number(wanted)?));
            Ok(true)
        }
        _ => bail!("usage: trees record | compare FROM TO | show NUMBER"),
    }
}

fn reference() -> anyhow::Result<Reference> {
    Reference::start()?.context("PLEACH_TEST_ADK_PYTHON names no Python with google-adk")
}

fn record() -> anyhow::Result<()> {
    let mut adk = reference()?;
    let blocks: Vec<String> = (0..RECORDED)
        .map(scenario)
        .map(|scenario| Ok(block(&scenario, &adk.played(&scenario)?)))
        .collect::<anyhow::Result<_>>()?;
    std::fs::write(file(), blocks.join("\n\n") + "\n").context("cannot write the recordings")
}

/// Returns true if there is no difference.
#[expect(clippy::print_stdout, reason = "the report of a program")]
fn compare(from: u64, to: u64) -> anyhow::Result<bool> {
    let mut adk = reference()?;
    let mut differing = 0;
    for number in from..to {
        let scenario = scenario(number);
        let wanted = adk.played(&scenario)?;
        let found = match played(&scenario) {
            Ok(found) => found,
            Err(error) => {
                println!("tree_{number}: {error:#}");
                differing += 1;
                continue;
            }
        };
        if let [first, ..] = &differences(&wanted, &found)[..] {
            differing += 1;
            println!("tree_{number} at {}\n  google-adk: {}\n  pleach:     {}", first.path, first.golden, first.actual);
            println!("{}\n{}", block(&scenario, &wanted), block(&scenario, &found));
        }
    }
    println!("{} scenarios, {differing} differ", to - from);
    Ok(differing == 0)
}
