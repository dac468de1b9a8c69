//! Tests of processes that are killed while they redact. A value is either whole or removed, and after repeated calls
//! no part of it remains.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use pleach::{CreateSession, Event, SessionService as _, SessionServiceExt as _};
use pleach_tests::dice::Dice;
use pleach_tests::redactions::{key, open, output};
use serde_json::{Value, json};

use crate::database::{Backend, Database};

const EVENTS: usize = 30;
const KILLS: usize = 20;
const SEED: u64 = 20_261_125;

/// A process that redacts.
struct Redactor {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Redactor {
    /// Starts a process and lets it redact these events.
    fn start(database: &Database, folder: &Path, events: &[String]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redact-worker"));
        command.arg(database.url()).arg(folder).args(events).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut redactor = Self { child, lines };
        assert_eq!(redactor.hear().as_deref(), Some("ready"));
        redactor.child.stdin.take().unwrap().write_all(b"\n").unwrap();
        redactor
    }

    /// The next whole line, or `None` at the end.
    fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.strip_suffix('\n').map(str::to_owned)
    }

    /// Kills the process as `kill -9` does and returns the lines that were still in the pipe.
    fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        let rest = std::iter::from_fn(|| self.hear()).collect();
        self.child.wait().unwrap();
        rest
    }
}

fn id(number: usize) -> String {
    format!("e{number:02}")
}

fn secret(number: usize) -> String {
    format!("<4111-{number:02}>")
}

/// An output after its redaction.
fn left(number: usize) -> Value {
    let mut output = output(number, &secret(number));
    output["short"] = json!("[redacted]");
    output["list"][0] = json!("[redacted]");
    output
}

/// Loads the session and returns, for each event, whether it is redacted.
async fn redacted(database: &Database, folder: &Path) -> Vec<bool> {
    let sessions = open(&database.url(), folder).await.unwrap();
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    sessions.close().await.unwrap();
    assert_eq!(session.events.len(), EVENTS);
    let is_redacted = |(number, event): (usize, &std::sync::Arc<Event>)| {
        assert_eq!(event.id().to_string(), id(number));
        let is_redacted = event.custom_metadata().is_some();
        let expected = if is_redacted { left(number) } else { output(number, &secret(number)) };
        assert_eq!(event.output(), Some(&expected), "event {number} is half redacted");
        is_redacted
    };
    session.events.iter().enumerate().map(is_redacted).collect()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn held(folder: &Path) -> Vec<PathBuf> {
    let holds = |file: &PathBuf| {
        let bytes = std::fs::read(file).unwrap();
        bytes.windows(6).any(|window| window == b"<4111-")
    };
    files(folder).into_iter().filter(holds).collect()
}

/// One process after the other is killed while it redacts, and the next process repeats the calls that were not answered.
pub(crate) async fn a_redaction_outlives_kills(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let payloads = tempfile::tempdir().unwrap();
    let folder = payloads.path();
    let sessions = open(&database.url(), folder).await.unwrap();
    let create = CreateSession::new("t", "ana").with_session_id("s1").with_create_time(1.0);
    let mut session = sessions.create_session(create).await.unwrap();
    for number in 0..EVENTS {
        let mut event = Event::of(output(number, &secret(number)));
        event.set_id(id(number));
        event.set_timestamp(2.0 + number as f64);
        sessions.append_event(&mut session, event).await.unwrap();
    }
    sessions.close().await.unwrap();
    assert!(!held(folder).is_empty());

    let mut dice = Dice::new(SEED);
    let (mut done, mut kills, mut unanswered) = (0, 0, 0);
    for _ in 0..KILLS {
        if done == EVENTS {
            break;
        }
        let wanted: Vec<_> = (done..EVENTS).map(id).collect();
        let mut worker = Redactor::start(&database, folder, &wanted);
        let mut answered: Vec<_> = (0..dice.below(3).min(wanted.len())).map_while(|_| worker.hear()).collect();
        (0..dice.below(6000)).for_each(|_| std::thread::yield_now());
        answered.extend(worker.kill());
        assert_eq!(answered, wanted[..answered.len()]);
        done += answered.len();
        database.settle().await;
        let is_redacted = redacted(&database, folder).await;
        assert!(is_redacted[..done].iter().all(|yes| *yes), "acknowledged redactions are stored");
        let further = is_redacted[done..].iter().filter(|yes| **yes).count();
        assert!(further <= 1, "{further} redactions without an answer");
        (kills, unanswered) = (kills + 1, unanswered + further);
    }
    eprintln!("{kills} kills in {done} redactions, {unanswered} without an answer");
    // Repeating all redactions removes the remains of killed processes.
    let all: Vec<_> = (0..EVENTS).map(id).collect();
    let mut last = Redactor::start(&database, folder, &all);
    let answered: Vec<_> = std::iter::from_fn(|| last.hear()).collect();
    assert_eq!(answered, all);
    assert!(last.child.wait().unwrap().success());
    assert_eq!(redacted(&database, folder).await, [true; EVENTS]);
    assert_eq!(held(folder), Vec::<PathBuf>::new());
    let [rows] = database.rows(["SELECT CAST(event_data AS text) FROM events"]).await;
    assert_eq!(rows.iter().filter(|row| row[0].contains("4111")).count(), 0);
    let taken = |row: &Vec<String>| -> Vec<String> {
        let event: Value = serde_json::from_str(&row[0]).unwrap();
        let taken = event["custom_metadata"]["pleach_payloads"]["taken"].as_array().cloned().unwrap_or_default();
        taken.iter().map(|entry| entry["artifact"].as_str().unwrap().to_owned()).collect()
    };
    let mut named: Vec<_> = rows.iter().flat_map(taken).collect();
    named.sort_unstable();
    let found = files(folder);
    let mut kept: Vec<_> = found
        .iter()
        .flat_map(|file| file.iter().filter_map(|name| name.to_str()).filter(|name| name.starts_with("payload-")))
        .collect();
    kept.sort_unstable();
    kept.dedup();
    assert_eq!(kept, named, "only payloads that an event names are left");
    assert_eq!(named.len(), EVENTS / 3);
    if let Database::Sqlite { folder, .. } = &database {
        assert_eq!(held(folder.path()), Vec::<PathBuf>::new(), "the file and its log have no copies");
    }
    database.check_integrity().await;
}
