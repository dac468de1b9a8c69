//! Checks that the Rust and Python programs of docs/from-google-adk.md print what the page shows.

#[path = "../example/mod.rs"]
mod example;
#[path = "../../from_google_adk/page.rs"]
mod page;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::json;

const PAGE: &str = include_str!("../../../docs/from-google-adk.md");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/from_google_adk/programs.py");
const PYTHON: &str = "PLEACH_TEST_ADK_PYTHON";

/// The version that the page names.
const VERSION: &str = "2.13";

/// The output of each program, by the name of its section.
type Printed = BTreeMap<String, String>;

#[derive(Deserialize)]
struct Report {
    google_adk: String,
    printed: Printed,
}

#[test]
fn the_page_has_twelve_programs_in_both_languages() {
    let sections = page::sections(PAGE);
    let programs: Vec<_> = sections.iter().skip(1).collect();
    assert_eq!(programs.len(), 12);
    for section in programs {
        assert!(section.python.is_some() && section.rust.is_some() && section.text.is_some(), "{section:?}");
    }
    assert!(PAGE.contains(&format!("google-adk {VERSION}")));
}

#[test]
fn the_rust_programs_print_what_the_page_says() {
    let folder = example::empty_folder("from_google_adk", "rust");
    let run = |name: &String| {
        let mut command = Command::new(example::program("from_google_adk"));
        let output = command.arg(name).current_dir(&folder).output().expect("the example starts");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        (name.clone(), String::from_utf8(output.stdout).expect("output is UTF-8"))
    };
    check(&expected().keys().map(run).collect());
}

#[test]
fn the_python_programs_print_what_the_page_says() {
    let Some(python) = std::env::var_os(PYTHON).filter(|python| !python.is_empty()) else {
        pleach_contract::own_tests::skip(format_args!("{PYTHON} names no Python with google-adk"));
        return;
    };
    let sections = page::sections(PAGE);
    let programs: Printed =
        sections[1..].iter().filter_map(|section| Some((section.name.clone(), section.python.clone()?))).collect();
    let request = json!({"scripted": sections[0].python, "programs": programs}).to_string();
    let mut command = Command::new(python);
    command.arg(SCRIPT).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.current_dir(example::empty_folder("from_google_adk", "python")).spawn().unwrap();
    process.stdin.take().unwrap().write_all(request.as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report.google_adk.starts_with(VERSION), "this is google-adk {}", report.google_adk);
    check(&report.printed);
}

fn check(printed: &Printed) {
    let expected = expected();
    assert!(printed.keys().eq(expected.keys()));
    for (name, text) in printed {
        assert_eq!(text, &expected[name], "{name} prints\n{text}");
    }
}

fn expected() -> Printed {
    page::sections(PAGE).into_iter().filter_map(|section| Some((section.name, section.text?))).collect()
}
