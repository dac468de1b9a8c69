//! Running the program `interop`.

use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// Starts the program and writes its standard input.
pub(crate) fn start(args: &[&str], input: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interop"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The program may end without reading, which its exit status then shows.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child
}

pub(crate) fn output(args: &[&str], input: &str) -> Output {
    start(args, input).wait_with_output().unwrap()
}

pub(crate) fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// The answer of a call that must succeed.
pub(crate) fn answer(args: &[&str], input: &str) -> Value {
    let output = output(args, input);
    assert_eq!(status(&output), 0, "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}
