//! Runs the example `support_desk` in a folder of the test.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::example;

/// A folder to run the example in.
pub(crate) struct Desk {
    pub(crate) folder: PathBuf,
}

/// The status and the output of a process that has ended.
#[derive(Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Desk {
    /// Creates an empty folder. Each test passes its own name, so that tests can run at the same time.
    pub(crate) fn in_empty_folder(test: &str) -> Self {
        Self { folder: example::empty_folder("support_desk", test) }
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.run_with_input(args, "")
    }

    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Ended {
        let mut command = Command::new(example::program("support_desk"));
        // With this variable the program prints cargo commands, as if cargo had started it.
        command.args(args).current_dir(&self.folder).env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the example starts");
        let mut stdin = child.stdin.take().expect("standard input is piped");
        // A program that reads no input may already have ended.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("the example ends");
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        Ended { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    pub(crate) fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.folder.join(file), content).expect("a file can be written");
    }

    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).expect("the folder is there");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[track_caller]
pub(crate) fn check(ended: &Ended, status: i32, stdout: &str, stderr: &str) {
    let expected = Ended { status: Some(status), stdout: stdout.to_owned(), stderr: stderr.to_owned() };
    assert_eq!(*ended, expected, "\n{}\n{}", ended.stdout, ended.stderr);
}
