//! Lists the apps and users of a database with plain SQL, because no service can list them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};

/// Selects every app, and every app with each of its users. All layouts have these tables and columns. A user without
/// sessions may still have state.
const NAMES: &str = "SELECT app_name, NULL FROM app_states \
     UNION SELECT app_name, user_id FROM user_states \
     UNION SELECT app_name, user_id FROM sessions";

/// The apps and users of a database, sorted by code point.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) apps: BTreeSet<String>,
    pub(super) users: BTreeSet<(String, String)>,
}

/// The place of a URL's database.
#[derive(Debug, PartialEq)]
pub(super) enum Database {
    Sqlite(PathBuf),
    /// The URL in the form of the driver.
    Postgres(String),
}

impl Database {
    /// Finds the database by the rules of [`pleach::connect`].
    pub(super) fn of(url: &str) -> anyhow::Result<Self> {
        match url.split_once(':') {
            Some(("sqlite" | "sqlite+aiosqlite", rest)) => sqlite_file(rest).map(Self::Sqlite),
            Some(("postgres" | "postgresql" | "postgresql+asyncpg" | "postgresql+psycopg", rest)) => {
                Ok(Self::Postgres(format!("postgres:{rest}")))
            }
            Some((scheme, _)) => bail!("`{scheme}:` names no database that outlives the program"),
            None => bail!("the URL of the database has no scheme, such as `sqlite:`"),
        }
    }

    /// Fails if the file of the database does not exist. Opening would create the file, so readers check first.
    pub(super) fn ensure_exists(&self) -> anyhow::Result<()> {
        if let Self::Sqlite(file) = self {
            ensure!(Path::is_file(file), "there is no file {}", file.display());
        }
        Ok(())
    }

    pub(super) async fn names(&self) -> anyhow::Result<Names> {
        let rows = self.rows().await.context("cannot list apps and users")?;
        let mut names = Names::default();
        for (app, user) in rows {
            names.apps.insert(app.clone());
            names.users.extend(user.map(|user| (app, user)));
        }
        Ok(names)
    }

    async fn rows(&self) -> sqlx::Result<Vec<(String, Option<String>)>> {
        let names = sqlx::query_as(NAMES);
        match self {
            Self::Sqlite(file) => {
                let mut connection = SqliteConnectOptions::new().filename(file).connect().await?;
                let rows = names.fetch_all(&mut connection).await?;
                connection.close().await?;
                Ok(rows)
            }
            Self::Postgres(url) => {
                let mut connection = PgConnection::connect(url).await?;
                let rows = sqlx::query_as(NAMES).fetch_all(&mut connection).await?;
                connection.close().await?;
                Ok(rows)
            }
        }
    }
}

/// Reads the part after the scheme: three slashes before a relative path, four before an absolute one.
fn sqlite_file(rest: &str) -> anyhow::Result<PathBuf> {
    let path = match rest.strip_prefix("//") {
        Some(path) => path.strip_prefix('/').context("an SQLite URL has no host: use three slashes")?,
        None => rest,
    };
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    ensure!(!path.is_empty() && path != ":memory:", "the SQLite URL names no file");
    Ok(decoded(path).context("the SQLite URL has a `%` without two hexadecimal digits of UTF-8")?.into())
}

/// Replaces `%XX`.
fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        // `from_str_radix` alone would also accept a sign.
        let byte = digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u8::from_str_radix(digits, 16));
        bytes.push(byte?.ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_files_as_connect_reads_them() {
        for (url, expected) in [
            ("sqlite:demo.db", "demo.db"),
            ("sqlite:///demo.db", "demo.db"),
            ("sqlite+aiosqlite:////var/demo.db", "/var/demo.db"),
            ("sqlite:///a%20%C3%A4%2B.db?x=1", "a ä+.db"),
        ] {
            assert_eq!(Database::of(url).unwrap(), Database::Sqlite(expected.into()));
        }
        let postgres = Database::Postgres("postgres://h/d".into());
        assert_eq!(Database::of("postgresql+asyncpg://h/d").unwrap(), postgres);
    }

    #[test]
    fn urls_without_a_database_are_refused() {
        for url in
            ["memory:", "sqlite://", "sqlite:///:memory:", "sqlite://host/a", "sqlite:///a%2", "sqlite:///%+1", "x"]
        {
            Database::of(url).unwrap_err();
        }
    }
}
