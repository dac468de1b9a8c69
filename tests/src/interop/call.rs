//! The command line of `interop`, and its calls.
//!
//! The command line is read without lexopt, because a session id may look like an option: `--c` is a valid id here.

use std::ffi::OsString;
use std::io::Read as _;

use anyhow::{Context as _, anyhow, bail};
use pleach::{SessionError, SessionKey};
use serde_json::Value;

use super::{NewEvent, append, dump, load, read_operations};

/// The text that is printed after a wrong call.
pub const USAGE: &str = "\
usage: interop dump URL
       interop load FILE.json URL
       interop append URL APP USER SESSION EVENT.json [--retry N]
URL is `sqlite:///FILE`, `sqlite+aiosqlite:///FILE` (four slashes before an absolute path) or
`postgresql://USER:PASSWORD@HOST:PORT/DATABASE`. A file called `-` is standard input.";

/// One call of the program.
#[derive(Debug, PartialEq)]
pub enum Call {
    /// Prints the contents of a database.
    Dump {
        /// The database.
        url: String,
    },
    /// Plays operations into a database.
    Load {
        /// The file with the operations.
        file: String,
        /// The database.
        url: String,
    },
    /// Appends one event to a session.
    Append {
        /// The database.
        url: String,
        /// The session.
        key: SessionKey,
        /// The file with the event.
        file: String,
        /// The number of times that a stale append is repeated.
        retries: u32,
    },
}

impl Call {
    /// Reads a command line without the program's name.
    ///
    /// # Errors
    /// The command line is not a call of [`USAGE`].
    pub fn parse(args: impl IntoIterator<Item = OsString>) -> anyhow::Result<Self> {
        let (mut words, mut retries) = (Vec::new(), None);
        let mut args = args.into_iter().map(|arg| arg.into_string().map_err(|arg| anyhow!("{arg:?} is not Unicode")));
        while let Some(arg) = args.next().transpose()? {
            if arg == "--retry" {
                let number = args.next().context("--retry needs a number")??;
                retries = Some(number.parse().with_context(|| format!("--retry needs a number, not `{number}`"))?);
            } else {
                words.push(arg);
            }
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match (words.as_slice(), retries) {
            (["dump", url], None) => Ok(Self::Dump { url: (*url).to_owned() }),
            (["load", file, url], None) => Ok(Self::Load { file: (*file).to_owned(), url: (*url).to_owned() }),
            (["append", url, app, user, session, file], retries) => Ok(Self::Append {
                url: (*url).to_owned(),
                key: SessionKey::new(*app, *user, *session),
                file: (*file).to_owned(),
                retries: retries.unwrap_or(0),
            }),
            ([], _) => bail!("nothing to do"),
            ([word @ ("dump" | "load"), ..], Some(_)) => bail!("`{word}` takes no --retry"),
            ([word @ ("dump" | "load" | "append"), ..], _) => bail!("`{word}` has too few or too many arguments"),
            ([word, ..], _) => bail!("unknown operation `{word}`"),
        }
    }

    /// Executes the call and returns the value to print.
    ///
    /// # Errors
    /// The failure of the call. [`status`](Self::status) turns it into the exit status.
    pub async fn run(&self) -> anyhow::Result<Value> {
        match self {
            Self::Dump { url } => dump(url).await,
            Self::Load { file, url } => {
                let operations = read_operations(&text(file)?).with_context(|| format!("cannot play {file}"))?;
                load(operations, url).await
            }
            Self::Append { url, key, file, retries } => {
                let event = NewEvent::read(&text(file)?).with_context(|| format!("cannot append {file}"))?;
                append(url, key, &event, *retries).await
            }
        }
    }

    /// The exit status for an error of [`run`](Self::run).
    pub fn status(&self, error: &anyhow::Error) -> u8 {
        match (self, error.downcast_ref()) {
            (Self::Append { .. }, Some(SessionError::Stale { .. })) => 3,
            (Self::Append { .. }, Some(SessionError::NotFound(_))) => 4,
            _ => 1,
        }
    }
}

fn text(file: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    if file == "-" {
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
    } else {
        text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> anyhow::Result<Call> {
        Call::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn calls_are_read() {
        assert_eq!(parse("dump sqlite:///a").unwrap(), Call::Dump { url: "sqlite:///a".into() });
        let append = |retries| Call::Append {
            url: "u".into(),
            key: SessionKey::new("a", "b", "--c"),
            file: "-".into(),
            retries,
        };
        assert_eq!(parse("append u a b --c -").unwrap(), append(0));
        assert_eq!(parse("append --retry 5 u a b --c -").unwrap(), append(5));
    }

    #[test]
    fn wrong_calls_are_named() {
        for (line, expected) in [
            ("", "nothing to do"),
            ("fetch u", "unknown operation `fetch`"),
            ("dump", "`dump` has too few or too many arguments"),
            ("load f u v", "`load` has too few or too many arguments"),
            ("dump u --retry 1", "`dump` takes no --retry"),
            ("append u a b c f --retry", "--retry needs a number"),
            ("append u a b c f --retry -1", "--retry needs a number, not `-1`"),
        ] {
            assert_eq!(parse(line).unwrap_err().to_string(), expected);
        }
    }
}
