//! The two layouts that google-adk uses in SQLite files, and how they differ once a file is open.

use pleach_core::{SessionKey, micros, seconds};
use pleach_session::{SessionError, SessionResult, prepare};
use sqlx::Type;
use sqlx::encode::{Encode, IsNull};
use sqlx::error::BoxDynError;
use sqlx::sqlite::{Sqlite, SqliteArgumentsBuffer, SqliteTypeInfo};

use crate::time;

/// Below this time, in seconds, the microseconds of a time fit into a revision.
const DISTINCT: f64 = 9e12;

/// The layout of a file: one of google-adk's two. Their tables have the same names and are not interchangeable.
// S65
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SqliteLayout {
    /// The layout of google-adk's `SqliteSessionService`, which `adk web` uses. Times are numbers of seconds, and ids
    /// lose surrounding blanks. google-adk's `DatabaseSessionService` can read it.
    #[default]
    Lite,
    /// The layout of google-adk's `DatabaseSessionService`, as in every other database. Times are texts in whole
    /// microseconds of the years 1 to 9999, and ids are not trimmed.
    V1,
}

impl SqliteLayout {
    /// Returns the layout's name for logs and errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lite => "lite",
            Self::V1 => "v1",
        }
    }

    /// Returns a time in seconds with the precision of a column. Fails if a column cannot hold the time.
    // S49
    pub(crate) fn time(self, key: &SessionKey, field: &str, time: f64) -> SessionResult<f64> {
        match self {
            Self::Lite if time.abs() < DISTINCT => Ok(time),
            Self::Lite => {
                let reason = "the time is more than 280,000 years away: revisions cannot distinguish such times";
                Err(SessionError::Unstorable { key: key.clone(), field: field.to_owned(), reason })
            }
            Self::V1 => prepare::calendar_time(key, field, time).map(seconds),
        }
    }

    /// Rounds a time that was read or checked by `time` to the precision of the columns.
    pub(crate) fn rounded(self, time: f64) -> f64 {
        match self {
            Self::Lite => time,
            Self::V1 => seconds(micros(time)),
        }
    }

    /// Returns the time as a value to bind.
    pub(crate) fn column(self, seconds: f64) -> TimeColumn {
        match self {
            Self::Lite => TimeColumn::Number(seconds),
            Self::V1 => TimeColumn::Text(time::to_text(seconds)),
        }
    }

    /// Returns the column that orders events with the same time.
    // S48
    pub(crate) fn tie(self) -> &'static str {
        match self {
            Self::Lite => "rowid",
            Self::V1 => "id",
        }
    }

    /// Returns the trimmed id if the layout trims ids and this id has surrounding blanks.
    // S30
    pub(crate) fn trimmed(self, key: &SessionKey) -> Option<SessionKey> {
        match self {
            Self::Lite => prepare::trimmed_key(key),
            Self::V1 => None,
        }
    }
}

/// A time as stored in a column of either layout.
#[derive(Clone, Debug)]
pub(crate) enum TimeColumn {
    Number(f64),
    Text(String),
}

impl Type<Sqlite> for TimeColumn {
    /// Has no effect: SQLite binds values, not types.
    fn type_info() -> SqliteTypeInfo {
        <f64 as Type<Sqlite>>::type_info()
    }
}

impl Encode<'_, Sqlite> for TimeColumn {
    fn encode_by_ref(&self, buffer: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        match self {
            Self::Number(seconds) => <f64 as Encode<'_, Sqlite>>::encode_by_ref(seconds, buffer),
            Self::Text(text) => <String as Encode<'_, Sqlite>>::encode_by_ref(text, buffer),
        }
    }
}
