//! [`Adk`]: a Python process with google-adk that answers requests about one database.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::database::Database;
use crate::expected::expected;

const PYTHON: &str = "PLEACH_TEST_ADK_PYTHON";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python/adk_check.py");

/// A session service of google-adk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Service {
    Sqlite,
    Database,
}

/// A running google-adk.
pub(crate) struct Adk {
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// The folder with Python's standard error, which is only read after a failure.
    folder: TempDir,
}

impl Adk {
    /// Opens a database with its service, or prints why the test is skipped.
    pub(crate) fn open(database: &Database) -> Option<Self> {
        let (service, location) = database.adk();
        Self::open_as(service, &location)
    }

    pub(crate) fn open_as(service: Service, location: &str) -> Option<Self> {
        let Some(python) = std::env::var_os(PYTHON).filter(|python| !python.is_empty()) else {
            pleach_contract::own_tests::skip(format_args!("{PYTHON} names no Python with google-adk"));
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let kind = match service {
            Service::Sqlite => "sqlite",
            Service::Database => "database",
        };
        let mut command = Command::new(python);
        command.arg(SCRIPT).args([kind, location]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.stderr(File::create(folder.path().join("stderr")).unwrap()).spawn().unwrap();
        let requests = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let mut adk = Self { process, requests, answers, folder };
        // The expected values were recorded from one version, so google-adk must have that version.
        assert_eq!(adk.answer(), json!({"ok": expected()["google_adk"]}));
        Some(adk)
    }

    /// Sends a request that must succeed and returns its result.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        let mut answer = self.tries(request);
        assert!(answer.get("ok").is_some(), "{request}: {answer}");
        answer["ok"].take()
    }

    /// Sends a request that must fail and returns the class of its error.
    pub(crate) fn fails(&mut self, request: &Value) -> String {
        let answer = self.tries(request);
        answer["error"].as_str().unwrap_or_else(|| panic!("{request}: {answer}")).to_owned()
    }

    fn tries(&mut self, request: &Value) -> Value {
        writeln!(self.requests.as_ref().unwrap(), "{request}").unwrap();
        self.answer()
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| {
            let said = std::fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default();
            panic!("google-adk answers {line:?}; its standard error: {said}")
        })
    }
}

impl Drop for Adk {
    fn drop(&mut self) {
        // At the end of its input, google-adk closes the database and ends.
        drop(self.requests.take());
        let _ = self.process.wait();
    }
}
