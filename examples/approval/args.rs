//! The command line.

use lexopt::{Arg, ValueExt as _};
use pleach::BoxError;

pub(crate) const USAGE: &str = "\
An agent that buys things, and a person who approves it.

usage: approval [--db URL] [--model NAME] order TEXT...       ask the agent for something
       approval [--db URL] [--model NAME] inbox               list the open questions
       approval [--db URL] [--model NAME] answer ID yes|no    answer a question; the run continues here

  --db URL      where runs are kept (default: sqlite:approval.db)
  --model NAME  such as openai:gpt-5-mini, or scripted (default: from the environment, otherwise scripted)";

/// The default database.
pub(crate) const DB: &str = "sqlite:approval.db";

/// The parsed command line.
pub(crate) struct Args {
    pub(crate) db: String,
    pub(crate) model: Option<String>,
    pub(crate) action: Action,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    Help,
    Order(String),
    Inbox,
    Answer(String, bool),
}

impl Args {
    pub(crate) fn parse() -> Result<Self, BoxError> {
        let (mut db, mut model, mut words) = (DB.to_owned(), None, Vec::new());
        let mut parser = lexopt::Parser::from_env();
        while let Some(arg) = parser.next()? {
            match arg {
                Arg::Long("db") => db = parser.value()?.string()?,
                Arg::Long("model") => model = Some(parser.value()?.string()?),
                Arg::Long("help") | Arg::Short('h') => return Ok(Self { db, model, action: Action::Help }),
                Arg::Value(word) => words.push(word.string()?),
                other => return Err(other.unexpected().into()),
            }
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let action = match words[..] {
            ["order", _, ..] => Action::Order(words[1..].join(" ")),
            ["inbox"] => Action::Inbox,
            ["answer", id, "yes"] => Action::Answer(id.to_owned(), true),
            ["answer", id, "no"] => Action::Answer(id.to_owned(), false),
            [] => Action::Help,
            _ => return Err(format!("cannot make sense of `{}`; `--help` shows the commands", words.join(" ")).into()),
        };
        Ok(Self { db, model, action })
    }
}
