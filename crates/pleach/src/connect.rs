//! Opens the session backend that a URL selects.

use std::sync::Arc;

use pleach_session::SessionService;

use crate::ConnectError;

/// Opens the session backend of a URL.
///
/// | URL | backend |
/// | --- | --- |
/// | `memory:`, `memory://`, `sqlite://` | process memory |
/// | `sqlite:FILE`, `sqlite:///FILE` | SQLite file. A path after three slashes is relative, a path after four is absolute; `%XX` is decoded. A new file gets google-adk's *lite* layout |
/// | `sqlite+aiosqlite:///FILE` | SQLite file as above; a new file gets google-adk's *v1* layout |
/// | `postgresql://USER:PASSWORD@HOST:PORT/DATABASE` | Postgres. The schemes `postgres`, `postgresql+asyncpg` and `postgresql+psycopg` mean the same |
///
/// A file that has tables keeps its layout, whatever the scheme. An SQLite URL may end in `?` and options joined by
/// `&`:
///
/// | option | meaning |
/// | --- | --- |
/// | `mode=rwc`, `mode=rw` | if the file is missing, make it (the default), or fail |
/// | `mode=ro` | read only; the file is not changed, see [`connect_read_only`] |
/// | `synchronous=full`, `synchronous=normal` | commits survive a power cut (the default), or only a crash of the process |
/// | `busy_timeout=MILLISECONDS` | how long to wait for other processes; 10000 by default |
/// | `read_connections=COUNT` | how many loads run at the same time, 1 to 1000; 4 by default |
///
/// A Postgres URL takes the options of its driver, such as `options=-csearch_path%3Dschema` and `application_name`.
///
/// # Errors
/// An unknown scheme, a scheme whose feature is off (the error names it), a file or server that cannot be opened. No
/// error shows a password.
///
/// # Cancel safety
/// Dropping the future leaves at most an empty, valid database file, or empty tables.
// S66
pub async fn connect(url: &str) -> Result<Arc<dyn SessionService>, ConnectError> {
    open(url, false).await
}

/// Opens the session backend of a URL for reading only.
///
/// [`connect`] lists the URLs. No table or file is created, an SQLite file keeps its journal mode, and every write
/// fails with `ReadOnly`. A `memory:` URL opens an empty service that accepts writes.
///
/// # Errors
/// The errors of [`connect`]; a database without the tables of sessions is `Unsupported`.
///
/// # Cancel safety
/// Dropping the future changes nothing.
pub async fn connect_read_only(url: &str) -> Result<Arc<dyn SessionService>, ConnectError> {
    open(url, true).await
}

async fn open(url: &str, read_only: bool) -> Result<Arc<dyn SessionService>, ConnectError> {
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(ConnectError::UnknownScheme { scheme: shown(url) });
    };
    match scheme {
        "memory" => memory(scheme),
        "sqlite" if rest == "//" => memory(scheme),
        "sqlite" | "sqlite+aiosqlite" => sqlite(scheme, rest, read_only).await,
        "postgres" | "postgresql" | "postgresql+asyncpg" | "postgresql+psycopg" => {
            postgres(scheme, url, read_only).await
        }
        _ => Err(ConnectError::UnknownScheme { scheme: shown(scheme) }),
    }
}

/// Returns the scheme for an error text. A string that is too long or malformed for a scheme may be a misplaced
/// secret, so it is hidden.
fn shown(scheme: &str) -> String {
    let is_scheme =
        scheme.len() <= 24 && scheme.bytes().all(|byte| byte.is_ascii_lowercase() || b"+-.".contains(&byte));
    if is_scheme { scheme.to_owned() } else { "…".to_owned() }
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
async fn sqlite(scheme: &str, rest: &str, read_only: bool) -> Result<Arc<dyn SessionService>, ConnectError> {
    let layout = match scheme {
        "sqlite+aiosqlite" => pleach_session_sqlite::SqliteLayout::V1,
        _ => pleach_session_sqlite::SqliteLayout::Lite,
    };
    let shown = format!("{scheme}:…");
    let place = crate::sqlite_url::parse(&shown, rest)?;
    let options = place.options.with_layout(layout);
    // The error of the backend names the file.
    let failed = |error| ConnectError::Open { url: shown, error: Box::new(error) };
    if read_only || place.read_only {
        let opened = pleach_session_sqlite::ReadOnlySqliteSessionService::open(place.path, options).await;
        return Ok(Arc::new(opened.map_err(failed)?));
    }
    let opened = pleach_session_sqlite::SqliteSessionService::open_with(place.path, options).await;
    Ok(Arc::new(opened.map_err(failed)?))
}

#[cfg(not(feature = "sqlite"))]
async fn sqlite(scheme: &str, _: &str, _: bool) -> Result<Arc<dyn SessionService>, ConnectError> {
    Err(ConnectError::FeatureOff { scheme: scheme.to_owned(), feature: "sqlite" })
}

#[cfg(feature = "postgres")]
async fn postgres(scheme: &str, url: &str, read_only: bool) -> Result<Arc<dyn SessionService>, ConnectError> {
    let options = pleach_session_postgres::PostgresOptions::new().with_read_only(read_only);
    let opened = pleach_session_postgres::PostgresSessionService::open_with(url, options).await;
    // The error of the backend names the server.
    let service =
        opened.map_err(|error| ConnectError::Open { url: format!("{scheme}://…"), error: Box::new(error) })?;
    Ok(Arc::new(service))
}

#[cfg(not(feature = "postgres"))]
async fn postgres(scheme: &str, _: &str, _: bool) -> Result<Arc<dyn SessionService>, ConnectError> {
    Err(ConnectError::FeatureOff { scheme: scheme.to_owned(), feature: "postgres" })
}
