//! Reading columns whose type is the writer's choice.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, TypeInfo as _, ValueRef as _};

use crate::time;

/// A time column: a number of seconds, or text another layout's writer left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Time {
    /// Seconds since the epoch; `None` when the text says no time.
    pub(crate) seconds: Option<f64>,
    pub(crate) is_text: bool,
}

/// Reads a time column; `None` when it is NULL.
pub(crate) fn time(row: &SqliteRow, column: &str) -> sqlx::Result<Option<Time>> {
    let value = row.try_get_raw(column)?;
    if value.is_null() {
        return Ok(None);
    }
    let is_text = value.type_info().name() == "TEXT";
    let seconds =
        if is_text { time::parse(row.try_get_unchecked(column)?) } else { Some(row.try_get_unchecked(column)?) };
    Ok(Some(Time { seconds, is_text }))
}

/// Reads a count; SQLite counts in `i64`, and nothing here has more than 2^32 of anything.
pub(crate) fn count(row: &SqliteRow, column: &str) -> sqlx::Result<u32> {
    let count: Option<i64> = row.try_get(column)?;
    Ok(u32::try_from(count.unwrap_or(0)).unwrap_or(u32::MAX))
}
