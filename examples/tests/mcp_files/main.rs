//! Runs the example `mcp_files` as a program, with the reference server if that is installed.

#[path = "../example/mod.rs"]
mod example;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The variable with the folder in which `npm install` has installed the servers.
const SERVERS: &str = "PLEACH_TEST_MCP_SERVERS";

#[test]
fn the_agent_lists_and_reads_files_through_the_server() {
    let Some(server) = server() else { return };
    let folder = example::empty_folder("mcp_files", "reads").canonicalize().unwrap();
    std::fs::write(folder.join("oslo.txt"), "Oslo is in Norway.\n").unwrap();
    std::fs::write(folder.join("rome.txt"), "Rome is in Italy.\n").unwrap();
    let output = run(&folder, &["--server", &server, "--folder", ".", "And Oslo?"]);
    let place = folder.display();
    let expected = format!(
        "And Oslo?
  * list_directory {{\"path\":\"{place}\"}}
  = [FILE] oslo.txt | [FILE] rome.txt
  * read_text_file {{\"path\":\"{place}/oslo.txt\"}}
  = Oslo is in Norway.
Oslo is in Norway.
"
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success());
}

#[test]
fn the_notes_of_the_example_answer_its_question() {
    let Some(server) = server() else { return };
    let output = run(&example::empty_folder("mcp_files", "notes"), &["--server", &server]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.ends_with("\nOslo is the capital of Norway. The fjord is warm enough for a swim in August.\n"),
        "{text}"
    );
}

#[test]
fn a_server_that_cannot_be_started_is_named() {
    let output = run(&example::empty_folder("mcp_files", "missing"), &["--server", "no-such-server --fast"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.starts_with("mcp_files: ") && error.contains("no-such-server"), "{error}");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
}

#[test]
fn a_missing_folder_is_named() {
    let output = run(&example::empty_folder("mcp_files", "absent"), &["--folder", "absent"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.starts_with("mcp_files: absent: "), "{error}");
}

/// Returns the command of the reference server. Its path must not contain spaces, because the example splits the
/// command at spaces.
fn server() -> Option<String> {
    let Some(folder) = std::env::var_os(SERVERS).filter(|folder| !folder.is_empty()) else {
        pleach_contract::own_tests::skip(format_args!("{SERVERS} names no folder"));
        return None;
    };
    let script = PathBuf::from(folder).join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let script = script.to_str().expect("a path of UTF-8");
    if script.contains(char::is_whitespace) {
        pleach_contract::own_tests::skip("the path of the server has a blank");
        return None;
    }
    Some(format!("node {script}"))
}

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(example::program("mcp_files"));
    command.args(["--model", "scripted"]).args(args).current_dir(folder);
    command.output().expect("the example starts")
}
