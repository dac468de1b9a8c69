//! Runs the example `approval` as a program. Each call is a separate process.
#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

#[path = "../example/mod.rs"]
mod example;

use std::path::Path;
use std::process::Command;

#[test]
fn one_process_asks_another_answers_and_the_tool_runs_once() {
    let folder = example::empty_folder("approval", "yes");
    let asked = run(&folder, &["order", "40", "chairs"]);
    let id = id_in(&asked);
    let wish = r#""buy" {"item":"chairs","quantity":40}"#;
    let waits = "It waits for approval. Any process can answer:\n    cargo run --example approval -- answer";
    let call = r#"  * buy {"item":"chairs","quantity":40}"#;
    assert_eq!(asked, format!("{call}\n{waits} {id} yes\n"));
    assert_eq!(bought(&folder), "");
    assert_eq!(run(&folder, &["inbox"]), format!("{id}  ana: {wish}\n1 to answer\n"));

    let answered = run(&folder, &["answer", &id, "yes"]);
    let result = r#"  = {"bought":"40 chairs"}"#;
    assert_eq!(answered, format!("Approved: {wish}\n{result}\nI have bought 40 chairs.\n"));
    assert_eq!(run(&folder, &["inbox"]), "0 to answer\n");
    let again = fails(&folder, &["answer", &id, "yes"]);
    assert_eq!(again, format!("approval: no open question has the id {id}; `inbox` lists the open ones\n"));
    assert_eq!(bought(&folder), "40 chairs\n");
}

#[test]
fn a_refused_call_does_not_run() {
    let folder = example::empty_folder("approval", "no");
    let (first, second) = (run(&folder, &["order", "11", "desks"]), run(&folder, &["order", "12", "lamps"]));
    assert!(run(&folder, &["answer", &id_in(&first), "no"]).ends_with("I was not allowed to buy that.\n"));
    assert!(run(&folder, &["inbox"]).starts_with(&id_in(&second)));
    assert_eq!(bought(&folder), "");
}

#[test]
fn a_small_order_needs_no_approval() {
    let folder = example::empty_folder("approval", "small");
    assert!(run(&folder, &["order", "10 cups"]).ends_with("I have bought 10 cups.\n"));
    assert_eq!(run(&folder, &["inbox"]), "0 to answer\n");
    assert_eq!(bought(&folder), "10 cups\n");
}

#[test]
fn an_invalid_command_line_is_refused() {
    let folder = example::empty_folder("approval", "usage");
    assert_eq!(
        fails(&folder, &["answer", "id", "perhaps"]),
        "approval: cannot make sense of `answer id perhaps`; `--help` shows the commands\n"
    );
    assert_eq!(fails(&folder, &["--loud"]), "approval: invalid option '--loud'\n");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

fn id_in(output: &str) -> String {
    output.split_once("-- answer ").and_then(|(_, rest)| rest.split_once(" yes")).expect("a command").0.to_owned()
}

fn bought(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("purchases.txt")).unwrap_or_default()
}

fn run(folder: &Path, args: &[&str]) -> String {
    let output = command(folder, args).output().expect("the example starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn fails(folder: &Path, args: &[&str]) -> String {
    let output = command(folder, args).output().expect("the example starts");
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(example::program("approval"));
    command.args(["--model", "scripted"]).args(args).current_dir(folder);
    command
}
