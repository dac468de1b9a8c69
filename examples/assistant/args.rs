//! The command line.

use std::path::PathBuf;

use lexopt::{Arg, ValueExt as _};
use pleach::{IdGen as _, RandomIds};

use crate::Result;

pub(crate) const USAGE: &str = "\
A chat on the terminal that keeps notes.

usage: assistant [--session ID] [--db URL] [--model NAME]

  --session ID  continue this chat, or start one with this id (default: a new one)
  --db URL      where chats are kept (default: sqlite:assistant.db)
  --model NAME  openai:NAME, ollama:NAME, gemini:NAME, anthropic:NAME or scripted
                (default: from the keys and base URLs in the environment, otherwise scripted)";

/// The parsed command line.
pub(crate) struct Args {
    pub(crate) session: String,
    pub(crate) db: String,
    pub(crate) model: Option<String>,
}

impl Args {
    /// Reads the command line; `None` if it asks for help.
    pub(crate) fn parse() -> Result<Option<Self>> {
        let (mut session, mut db, mut model) = (new_session(), "sqlite:assistant.db".to_owned(), None);
        let mut parser = lexopt::Parser::from_env();
        while let Some(arg) = parser.next()? {
            match arg {
                Arg::Long("session") => session = parser.value()?.string()?,
                Arg::Long("db") => db = parser.value()?.string()?,
                Arg::Long("model") => model = Some(parser.value()?.string()?),
                Arg::Long("help") | Arg::Short('h') => return Ok(None),
                other => return Err(format!("{}; `--help` shows the options", other.unexpected()).into()),
            }
        }
        if session.trim().is_empty() {
            return Err("the id of a session must not be blank".into());
        }
        Ok(Some(Self { session, db, model }))
    }

    /// Returns the file for the history of typed lines, next to the database; `None` if the database is not a file.
    pub(crate) fn history_file(&self) -> Option<PathBuf> {
        let (scheme, rest) = self.db.split_once(':')?;
        let file = rest.strip_prefix("///").unwrap_or(rest).split('?').next()?;
        let is_file = scheme.starts_with("sqlite") && !file.is_empty();
        is_file.then(|| PathBuf::from(file).with_extension("history"))
    }
}

/// Returns an id that a person can type.
pub(crate) fn new_session() -> String {
    let id = RandomIds.uuid().simple().to_string();
    format!("chat-{}", &id[..8])
}
