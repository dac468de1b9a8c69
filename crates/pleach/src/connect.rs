//! Choosing a session backend by URL.

use std::sync::Arc;

use pleach_session::{SessionError, SessionService};

/// Why a URL gives no session service.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The backend of this scheme is not compiled in.
    #[error("'{scheme}' needs the feature `{feature}` of the crate `pleach`: add `features = [\"{feature}\"]`")]
    FeatureOff {
        /// The scheme of the URL.
        scheme: String,
        /// The feature that adds it.
        feature: &'static str,
    },
    /// No backend has this scheme.
    #[error(
        "'{scheme}' is no session backend: use `memory:`, `sqlite:FILE`, `sqlite:///FILE` or `postgresql://HOST/DATABASE`"
    )]
    UnknownScheme {
        /// The scheme of the URL.
        scheme: String,
    },
    /// The URL names a backend that this version does not have yet.
    #[error("'{scheme}' is not supported by this version of pleach")]
    NotYet {
        /// The scheme of the URL.
        scheme: String,
    },
    /// The URL has no file.
    #[error("'{url}' names no file: use `sqlite:FILE`, or `memory:` for a database in memory")]
    NoFile {
        /// The URL.
        url: String,
    },
    /// The URL has a part that this backend does not know.
    #[error("'{url}': {reason}")]
    BadUrl {
        /// The URL.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The backend cannot be opened.
    #[error("cannot open '{url}'")]
    Open {
        /// The URL; of a Postgres URL only the scheme, since the rest may hold a password.
        url: String,
        /// What the backend said.
        #[source]
        source: SessionError,
    },
}

/// Opens the session backend that a URL names (S66).
///
/// | URL | backend |
/// | --- | --- |
/// | `memory:`, `memory://`, `sqlite://` | process memory |
/// | `sqlite:FILE`, `sqlite:///FILE` | SQLite file; three slashes and a relative path, four for an absolute one; `%XX` is decoded |
///
/// | `postgresql://USER:PASSWORD@HOST:PORT/DATABASE` | Postgres; also `postgres`, `postgresql+asyncpg`, `postgresql+psycopg` |
///
/// # Errors
/// An unknown scheme, a scheme whose feature is off (the error names it), a file or server that cannot be opened. No
/// error shows a password.
///
/// # Cancel safety
/// Dropping the future leaves at most an empty, valid database file, or empty tables.
pub async fn connect(url: &str) -> Result<Arc<dyn SessionService>, ConnectError> {
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(ConnectError::UnknownScheme { scheme: url.to_owned() });
    };
    match scheme {
        "memory" => memory(scheme),
        "sqlite" if rest == "//" => memory(scheme),
        "sqlite" => sqlite(url, rest).await,
        "postgres" | "postgresql" | "postgresql+asyncpg" | "postgresql+psycopg" => postgres(scheme, url).await,
        "sqlite+aiosqlite" => Err(ConnectError::NotYet { scheme: scheme.to_owned() }),
        _ => Err(ConnectError::UnknownScheme { scheme: scheme.to_owned() }),
    }
}

#[cfg(feature = "inmemory")]
fn memory(_: &str) -> Result<Arc<dyn SessionService>, ConnectError> {
    Ok(Arc::new(pleach_session_inmemory::InMemorySessionService::new()))
}

#[cfg(not(feature = "inmemory"))]
fn memory(scheme: &str) -> Result<Arc<dyn SessionService>, ConnectError> {
    Err(ConnectError::FeatureOff { scheme: scheme.to_owned(), feature: "inmemory" })
}

#[cfg(feature = "sqlite")]
async fn sqlite(url: &str, rest: &str) -> Result<Arc<dyn SessionService>, ConnectError> {
    let path = sqlite_path(url, rest)?;
    let opened = pleach_session_sqlite::SqliteSessionService::open(path).await;
    let service = opened.map_err(|source| ConnectError::Open { url: url.to_owned(), source })?;
    Ok(Arc::new(service))
}

#[cfg(not(feature = "sqlite"))]
async fn sqlite(_: &str, _: &str) -> Result<Arc<dyn SessionService>, ConnectError> {
    Err(ConnectError::FeatureOff { scheme: "sqlite".to_owned(), feature: "sqlite" })
}

#[cfg(feature = "postgres")]
async fn postgres(scheme: &str, url: &str) -> Result<Arc<dyn SessionService>, ConnectError> {
    let opened = pleach_session_postgres::PostgresSessionService::open(url).await;
    // What the backend said names the server.
    let service = opened.map_err(|source| ConnectError::Open { url: format!("{scheme}://…"), source })?;
    Ok(Arc::new(service))
}

#[cfg(not(feature = "postgres"))]
async fn postgres(scheme: &str, _: &str) -> Result<Arc<dyn SessionService>, ConnectError> {
    Err(ConnectError::FeatureOff { scheme: scheme.to_owned(), feature: "postgres" })
}

/// The file of an SQLite URL: `sqlite:FILE` and `sqlite:///FILE` are relative, `sqlite:////FILE` is absolute.
#[cfg(feature = "sqlite")]
fn sqlite_path(url: &str, rest: &str) -> Result<std::path::PathBuf, ConnectError> {
    let bad = |reason| ConnectError::BadUrl { url: url.to_owned(), reason };
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.strip_prefix('/').ok_or_else(|| bad("a host is not possible: use three slashes"))?,
        None => rest,
    };
    if path.contains('?') {
        return Err(bad("options after '?' are not supported: open `SqliteSessionService` with `SqliteOptions`"));
    }
    if path.is_empty() || path == ":memory:" {
        return Err(ConnectError::NoFile { url: url.to_owned() });
    }
    let path = decode(path).ok_or_else(|| bad("a '%' must be followed by two hexadecimal digits of UTF-8"))?;
    Ok(path.into())
}

#[cfg(feature = "sqlite")]
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
#[cfg(feature = "sqlite")]
mod tests {
    use super::*;

    fn path(url: &str) -> Option<String> {
        let rest = url.strip_prefix("sqlite:").unwrap();
        sqlite_path(url, rest).ok().map(|path| path.to_string_lossy().into_owned())
    }

    #[test]
    fn s66_slashes_decide_between_relative_and_absolute() {
        assert_eq!(path("sqlite:demo.db").as_deref(), Some("demo.db"));
        assert_eq!(path("sqlite:///demo.db").as_deref(), Some("demo.db"));
        assert_eq!(path("sqlite:////var/demo.db").as_deref(), Some("/var/demo.db"));
        assert_eq!(path("sqlite:///a%20b.db").as_deref(), Some("a b.db"));
        assert_eq!(path("sqlite:///a%2.db"), None);
        assert_eq!(path("sqlite://host/demo.db"), None);
        assert_eq!(path("sqlite:"), None);
    }
}
