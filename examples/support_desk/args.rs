//! Parses the command line. Nothing is opened or read here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::fault::Fault;
use crate::flow::Approval;

pub(crate) const HELP: &str = "\
Works on support tickets and keeps every step in an SQLite file.

usage: support_desk [--db FILE] [TICKETS]          work on the tickets of the program, of a file with one JSON
                                                   object per line, or of standard input (-)
       support_desk [--db FILE] --answer ID yes|no answer an open question
       support_desk [--db FILE] --trace            show the stored events as a tree of node runs

  --db FILE   the database (default: support_desk.db)";

const DEFAULT_DB: &str = "support_desk.db";

/// The parsed command line.
#[derive(Debug, PartialEq)]
pub(crate) struct Args {
    pub(crate) db: PathBuf,
    pub(crate) action: Action,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    Work(Source),
    Answer(String, Approval),
    Trace,
    Help,
}

/// The source of tickets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    Shipped,
    File(PathBuf),
    Stdin,
}

impl Args {
    /// Parses the arguments, without the program's name.
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, Fault> {
        let mut args = args.into_iter();
        let (mut db, mut action) = (None, None);
        while let Some(arg) = args.next() {
            let mut value = |what: &str| {
                let missing = || Fault::Usage(format!("{} needs {what}", arg.display()));
                args.next().ok_or_else(missing)
            };
            match arg.to_str() {
                Some("--db") => set(&mut db, PathBuf::from(value("a file")?), "--db")?,
                Some("--answer") => {
                    let id = value("the id of a question")?.to_string_lossy().into_owned();
                    let approval = approval(&value("yes or no after the id")?)?;
                    set(&mut action, Action::Answer(id, approval), "what to do")?;
                }
                Some("--trace") => set(&mut action, Action::Trace, "what to do")?,
                Some("--help" | "-h") => set(&mut action, Action::Help, "what to do")?,
                Some("-") => set(&mut action, Action::Work(Source::Stdin), "what to do")?,
                Some(flag) if flag.starts_with('-') => return Err(Fault::Usage(format!("unknown flag {flag}"))),
                _ => set(&mut action, Action::Work(Source::File(arg.into())), "what to do")?,
            }
        }
        let db = db.unwrap_or_else(|| DEFAULT_DB.into());
        Ok(Self { db, action: action.unwrap_or(Action::Work(Source::Shipped)) })
    }

    /// Returns the command line that runs this program on the same database with these arguments.
    pub(crate) fn command(&self, arguments: &str) -> String {
        let own = std::env::args_os().next().unwrap_or_default();
        // Cargo sets this variable for programs that it runs. If it is set, the person at the terminal has typed a
        // cargo command.
        let program = match std::env::var_os("CARGO_MANIFEST_DIR") {
            Some(_) => "cargo run --example support_desk --".to_owned(),
            None => quoted(Path::new(&own)),
        };
        if self.db == Path::new(DEFAULT_DB) {
            format!("{program} {arguments}")
        } else {
            format!("{program} --db {} {arguments}", quoted(&self.db))
        }
    }
}

/// Sets an option that may be set only once.
fn set<T>(place: &mut Option<T>, value: T, name: &str) -> Result<(), Fault> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Fault::Usage(format!("{name} is given more than once"))),
    }
}

fn approval(word: &OsString) -> Result<Approval, Fault> {
    match word.to_str() {
        Some("yes" | "y") => Ok(Approval { yes: true }),
        Some("no" | "n") => Ok(Approval { yes: false }),
        _ => Err(Fault::Usage(format!("an answer is yes or no, not {}", word.display()))),
    }
}

/// Quotes a word for a shell.
fn quoted(word: &Path) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
