//! What the database driver alone does with the same rows: the limits that W5 and W6 are held against.
//!
//! Events and states are text before the clock starts, and nothing is fenced, merged or checked. The tables are those
//! of the store, made by the service itself.

mod append;
mod postgres;
mod sqlite;

use std::time::Duration;

use pleach::{BoxError, SessionKey};

pub(super) use self::append::Append;
use self::sqlite::Grouping;
use crate::measure::now;
use crate::stores::{Storage, Store};

/// A way to append.
pub(super) struct Limit {
    /// How its parameter ends.
    pub(super) variant: &'static str,
    way: Way,
}

enum Way {
    Sqlite(Grouping),
    Postgres(postgres::Writers),
}

impl Limit {
    /// The ways to try for appends to so many sessions at once, of which the fastest is the limit; none in memory.
    ///
    /// # Errors
    /// No connection.
    pub(super) async fn all(store: &Store, sessions: usize) -> Result<Vec<Self>, BoxError> {
        let sqlite = |variant, grouping| Self { variant, way: Way::Sqlite(grouping) };
        Ok(match &store.place {
            Storage::Memory => Vec::new(),
            Storage::Folder(_) if sessions == 1 => vec![
                // Hardly any waiting for SQLite's thread, which is what SQLite itself can do.
                sqlite(",trip=20", Grouping { commits: 20, events: 1, in_rows: false }),
                sqlite(",trip=1", Grouping { commits: 1, events: 1, in_rows: false }),
            ],
            Storage::Folder(_) => vec![
                sqlite(",commit=64", Grouping { commits: 1, events: 64, in_rows: false }),
                sqlite(",commit=64,rows", Grouping { commits: 1, events: 64, in_rows: true }),
            ],
            Storage::Schema(schema) => {
                let (variant, connections) = if sessions == 1 { (",conns=1", 1) } else { (",conns=16", 16) };
                vec![Self { variant, way: Way::Postgres(postgres::Writers::open(schema, connections).await?) }]
            }
        })
    }

    /// Writes the appends of all sessions; returns how long that took, and each append where it is waited for.
    ///
    /// # Errors
    /// The first one of the driver.
    pub(super) async fn write(
        &mut self,
        store: &Store,
        sessions: Vec<Vec<Append>>,
    ) -> Result<(Duration, Vec<f64>), BoxError> {
        match &mut self.way {
            Way::Sqlite(grouping) => grouping.write(&store.place.file(), sessions).await,
            Way::Postgres(writers) => writers.write(sessions).await,
        }
    }
}

/// Reads a session the driver's way.
pub(super) enum Reader {
    Memory,
    Sqlite(sqlite::Reader),
    Postgres(postgres::Reader),
}

/// How long reading took.
#[derive(Default)]
pub(super) struct Read {
    /// Until all rows were there.
    pub(super) rows: Duration,
    /// Until they were parsed as well.
    pub(super) typed: Duration,
}

impl Reader {
    /// # Errors
    /// No connection.
    pub(super) async fn open(store: &Store) -> Result<Self, BoxError> {
        Ok(match &store.place {
            Storage::Memory => Self::Memory,
            Storage::Folder(_) => Self::Sqlite(sqlite::Reader::open(&store.place.file()).await?),
            Storage::Schema(schema) => Self::Postgres(postgres::Reader::open(schema).await?),
        })
    }

    pub(super) fn is_limit(&self) -> bool {
        !matches!(self, Self::Memory)
    }

    /// Reads the newest events, at most `limit`, which must be that many; takes no time in memory.
    ///
    /// # Errors
    /// The driver's, what cannot be parsed, and other events than expected.
    pub(super) async fn events(&mut self, key: &SessionKey, limit: usize) -> Result<Read, BoxError> {
        let count = i64::try_from(limit)?;
        let start = now();
        let (rows, texts) = match self {
            Self::Memory => return Ok(Read::default()),
            Self::Sqlite(reader) => {
                let rows = reader.events(key, count).await?;
                (start.elapsed(), sqlite::parse(&rows)?)
            }
            Self::Postgres(reader) => {
                let rows = reader.events(key, count).await?;
                (start.elapsed(), postgres::parse(&rows)?)
            }
        };
        let typed = start.elapsed();
        if texts.len() != limit {
            return Err(format!("{} rows read, {limit} expected", texts.len()).into());
        }
        Ok(Read { rows, typed })
    }

    /// Reads when the session was changed; takes no time in memory.
    ///
    /// # Errors
    /// The driver's.
    pub(super) async fn head(&mut self, key: &SessionKey) -> Result<Duration, BoxError> {
        let start = now();
        match self {
            Self::Memory => return Ok(Duration::ZERO),
            Self::Sqlite(reader) => reader.head(key).await?,
            Self::Postgres(reader) => reader.head(key).await?,
        }
        Ok(start.elapsed())
    }
}
