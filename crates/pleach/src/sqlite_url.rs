//! The URL of an SQLite file: its path and its options.

use std::path::PathBuf;
use std::time::Duration;

use pleach_session_sqlite::{SqliteOptions, Synchronous};

use crate::ConnectError;

/// The file of a URL, and the options for opening it.
#[derive(Debug)]
pub(crate) struct SqliteTarget {
    pub(crate) path: PathBuf,
    pub(crate) options: SqliteOptions,
    /// Whether the file is opened for reading only.
    pub(crate) read_only: bool,
}

/// Reads the part after the scheme: `FILE` and `///FILE` are relative, `////FILE` is absolute.
///
/// Errors show `shown` instead of the URL, whose values may be secrets.
// S66.1
pub(crate) fn parse(shown: &str, rest: &str) -> Result<SqliteTarget, ConnectError> {
    let bad = |reason: String| ConnectError::BadUrl { url: shown.to_owned(), reason };
    let path = match rest.strip_prefix("//") {
        Some("") => return Err(ConnectError::NoFile { url: shown.to_owned() }),
        Some(rest) => {
            rest.strip_prefix('/').ok_or_else(|| bad("a host is not allowed; use three slashes".to_owned()))?
        }
        None => rest,
    };
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if path.is_empty() || path == ":memory:" {
        return Err(ConnectError::NoFile { url: shown.to_owned() });
    }
    let decoded =
        |text| decode(text).ok_or_else(|| bad("a '%' must be followed by two hexadecimal digits of UTF-8".to_owned()));
    let mut options = SqliteOptions::default();
    let mut names: Vec<&str> = Vec::new();
    let mut read_only = false;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        read_only |= (name, value) == ("mode", "ro");
        options = set(options, name, &decoded(value)?).map_err(bad)?;
        if names.contains(&name) {
            return Err(bad(format!("the option `{name}` is set twice; leave one of them out")));
        }
        names.push(name);
    }
    Ok(SqliteTarget { path: decoded(path)?.into(), options, read_only })
}

fn set(options: SqliteOptions, name: &str, value: &str) -> Result<SqliteOptions, String> {
    match (name, value) {
        ("mode", "rwc") => Ok(options.with_create_if_missing(true)),
        ("mode", "rw" | "ro") => Ok(options.with_create_if_missing(false)),
        ("mode", _) => Err("`mode` is `rwc`, `rw` or `ro`".to_owned()),
        ("synchronous", "full") => Ok(options.with_synchronous(Synchronous::Full)),
        ("synchronous", "normal") => Ok(options.with_synchronous(Synchronous::Normal)),
        ("synchronous", _) => Err("`synchronous` is `full` or `normal`".to_owned()),
        ("busy_timeout", _) => match value.parse() {
            Ok(millis) => Ok(options.with_busy_timeout(Duration::from_millis(millis))),
            Err(_) => Err("`busy_timeout` is a number of milliseconds, such as `10000`".to_owned()),
        },
        ("read_connections", _) => match value.parse() {
            Ok(count @ 1..=1000) => Ok(options.with_read_connections(count)),
            _ => Err("`read_connections` is a number from 1 to 1000".to_owned()),
        },
        _ => Err(format!(
            "{} option; the options are mode, synchronous, busy_timeout and read_connections",
            unknown(name)
        )),
    }
}

/// Returns the option's name for an error text. A string that is not a word may be a misplaced secret, so it is
/// hidden.
fn unknown(name: &str) -> String {
    let is_word = name.len() <= 32 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_word { format!("`{name}` is an unknown") } else { "it has an unknown".to_owned() }
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Result<SqliteTarget, ConnectError> {
        parse(url, url.strip_prefix("sqlite:").unwrap())
    }

    #[test]
    fn s66_1_slashes_decide_between_relative_and_absolute() {
        let path = |url| parsed(url).ok().map(|place| place.path.to_string_lossy().into_owned());
        assert_eq!(path("sqlite:demo.db").as_deref(), Some("demo.db"));
        assert_eq!(path("sqlite:///demo.db").as_deref(), Some("demo.db"));
        assert_eq!(path("sqlite:////var/demo.db").as_deref(), Some("/var/demo.db"));
        assert_eq!(path("sqlite:///a%20b%3F.db?mode=rw").as_deref(), Some("a b?.db"));
        for bad in ["sqlite:///a%2.db", "sqlite://host/demo.db", "sqlite:", "sqlite:///?mode=rw"] {
            assert_eq!(path(bad), None, "{bad}");
        }
    }

    #[test]
    fn options_are_read_and_mistakes_named() {
        let place = parsed("sqlite:x.db?synchronous=normal&busy_timeout=250&mode=rw").unwrap();
        let expected = SqliteOptions::new()
            .with_synchronous(Synchronous::Normal)
            .with_busy_timeout(Duration::from_millis(250))
            .with_create_if_missing(false);
        assert_eq!(place.options, expected);
        for (query, named) in [
            ("sync=normal", "`sync` is an unknown option"),
            ("synchronous=off", "`full` or `normal`"),
            ("mode=memory", "`rwc`, `rw` or `ro`"),
            ("busy_timeout=5s", "milliseconds"),
            ("busy_timeout=-1", "milliseconds"),
            ("read_connections=0", "1 to 1000"),
            ("mode", "`rwc`, `rw` or `ro`"),
            ("mode=rw&mode=rw", "`mode` is set twice"),
            ("mode=rw&busy_timeout=1&mode=rwc", "`mode` is set twice"),
        ] {
            let error = parsed(&format!("sqlite:x.db?{query}")).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
        let read_only =
            ["mode=ro", "mode=rw", "mode=rwc"].map(|query| parsed(&format!("sqlite:x.db?{query}")).unwrap().read_only);
        assert_eq!(read_only, [true, false, false]);
        assert_eq!(
            parsed("sqlite:x.db?read_connections=9").unwrap().options,
            SqliteOptions::new().with_read_connections(9)
        );
    }

    /// The faulty part of a URL may be a misplaced secret.
    #[test]
    fn errors_show_no_value_of_a_url() {
        for url in [
            "sqlite://ana:hush@host/db",
            "sqlite:///x.db?key=hush",
            "sqlite:///x.db?Hush!=1",
            "sqlite:///x.db?mode=hush",
            "sqlite:///x.db?busy_timeout=hush",
            "sqlite:///hush%zz",
        ] {
            let error = parse("sqlite:…", url.strip_prefix("sqlite:").unwrap()).unwrap_err();
            let text = format!("{error} {error:?}").to_lowercase();
            assert!(!text.contains("hush"), "{text}");
        }
    }
}
