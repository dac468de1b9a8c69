//! Reading columns in which each writer chooses the type of the value.

use std::borrow::Cow;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, TypeInfo as _, ValueRef as _};

use crate::time;

/// Reads a time column, in seconds since the epoch; `None` if it does not hold a time.
pub(crate) fn time(row: &SqliteRow, column: &str) -> sqlx::Result<Option<f64>> {
    let value = row.try_get_raw(column)?;
    if value.is_null() {
        return Ok(None);
    }
    // The time is a number, or a text that the other layout's service wrote.
    match value.type_info().name() {
        "TEXT" => Ok(time::parse(row.try_get_unchecked(column)?)),
        "BLOB" => Ok(None),
        _ => row.try_get_unchecked(column).map(Some),
    }
}

/// Reads a text, even with bytes that are not UTF-8; `None` for NULL.
pub(crate) fn text<'r>(row: &'r SqliteRow, column: &str) -> sqlx::Result<Option<Cow<'r, str>>> {
    let bytes: Option<&[u8]> = row.try_get_unchecked(column)?;
    Ok(bytes.map(String::from_utf8_lossy))
}

/// Reads a count. SQLite counts in `i64`, and nothing counted here exceeds 2^32.
pub(crate) fn count(row: &SqliteRow, column: &str) -> sqlx::Result<u32> {
    let count: Option<i64> = row.try_get(column)?;
    Ok(u32::try_from(count.unwrap_or(0)).unwrap_or(u32::MAX))
}
