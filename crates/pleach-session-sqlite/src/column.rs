//! Reading columns whose type is the writer's choice.

use std::borrow::Cow;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, TypeInfo as _, ValueRef as _};

use crate::time;

/// Reads a time column, in seconds since the epoch; `None` when it holds no time.
pub(crate) fn time(row: &SqliteRow, column: &str) -> sqlx::Result<Option<f64>> {
    let value = row.try_get_raw(column)?;
    if value.is_null() {
        return Ok(None);
    }
    // A number, or the text of the other layout's writers.
    match value.type_info().name() {
        "TEXT" => Ok(time::parse(row.try_get_unchecked(column)?)),
        "BLOB" => Ok(None),
        _ => row.try_get_unchecked(column).map(Some),
    }
}

/// Reads a text, whatever its bytes are; `None` for NULL.
pub(crate) fn text<'r>(row: &'r SqliteRow, column: &str) -> sqlx::Result<Option<Cow<'r, str>>> {
    let bytes: Option<&[u8]> = row.try_get_unchecked(column)?;
    Ok(bytes.map(String::from_utf8_lossy))
}

/// Reads a count; SQLite counts in `i64`, and nothing here has more than 2^32 of anything.
pub(crate) fn count(row: &SqliteRow, column: &str) -> sqlx::Result<u32> {
    let count: Option<i64> = row.try_get(column)?;
    Ok(u32::try_from(count.unwrap_or(0)).unwrap_or(u32::MAX))
}
