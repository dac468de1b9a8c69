//! Measures the database driver alone, with the same rows in the database. W5 and W6 are compared with these limits.
//!
//! The clock starts when events and states are already text. There is no fence, and nothing is merged or checked. The
//! tables are those that the session service has created.

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
    /// The suffix of the row's parameter.
    pub(super) variant: &'static str,
    way: Way,
}

enum Way {
    Sqlite(Grouping),
    Postgres(postgres::Writers),
}

impl Limit {
    /// Returns the ways to append to this many sessions at once. The fastest way is the limit. For sessions in memory
    /// there is no limit.
    ///
    /// # Errors
    /// The connection cannot be opened.
    pub(super) async fn all(store: &Store, sessions: usize) -> Result<Vec<Self>, BoxError> {
        let sqlite = |variant, grouping| Self { variant, way: Way::Sqlite(grouping) };
        Ok(match &store.place {
            Storage::Memory => Vec::new(),
            Storage::Folder(_) if sessions == 1 => vec![
                // This hardly waits for SQLite's thread, so it measures the rate of SQLite itself.
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

    /// Writes the appends of all sessions. Returns the total time, and the time of each append if each is waited for.
    ///
    /// # Errors
    /// The first error of the driver.
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

/// A connection that reads sessions through the driver.
pub(super) enum Reader {
    Memory,
    Sqlite(sqlite::Reader),
    Postgres(postgres::Reader),
}

/// The times of a read.
#[derive(Default)]
pub(super) struct ReadTimes {
    /// The time until all rows had arrived.
    pub(super) rows: Duration,
    /// The time until the rows were parsed as well.
    pub(super) typed: Duration,
}

impl Reader {
    /// # Errors
    /// The connection cannot be opened.
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

    /// Reads the newest events, at most `limit`, and checks their number. Takes no time in memory.
    ///
    /// # Errors
    /// The error of the driver, a row that cannot be parsed, or other events than expected.
    pub(super) async fn events(&mut self, key: &SessionKey, limit: usize) -> Result<ReadTimes, BoxError> {
        let count = i64::try_from(limit)?;
        let start = now();
        let (rows, texts) = match self {
            Self::Memory => return Ok(ReadTimes::default()),
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
        Ok(ReadTimes { rows, typed })
    }

    /// Reads the time of the session's last change. Takes no time in memory.
    ///
    /// # Errors
    /// The error of the driver.
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
