//! Running the example in a folder of its own.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A folder to run the example in.
pub(crate) struct Desk {
    pub(crate) folder: PathBuf,
}

/// How a process ended.
#[derive(Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Desk {
    /// Each test gives a name of its own, so that tests may run at the same time.
    pub(crate) fn in_empty_folder(test: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("support_desk").join(test);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).expect("the folder of an earlier test run can be removed");
        }
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        Self { folder }
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.run_with_input(args, "")
    }

    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Ended {
        let mut command = Command::new(program());
        // As cargo runs it, so that the commands it prints are those of cargo.
        command.args(args).current_dir(&self.folder).env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the example starts");
        let mut stdin = child.stdin.take().expect("standard input is piped");
        // A program that reads no input may have ended already.
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

/// The example that cargo builds with the tests of its package.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its program");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("tests lie in a folder of the target folder");
    let program = profile.join("examples").join(format!("support_desk{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{} is not built: `cargo test -p pleach-examples` builds it", program.display());
    program
}
