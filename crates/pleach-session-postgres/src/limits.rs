//! The limits of columns. They are checked before the round trip, so that the error names the field.

use pleach_core::{Event, SessionKey};
use pleach_session::{SessionError, SessionResult, prepare};

use crate::value::Time;

/// Refuses names that are longer than their columns.
pub(crate) fn check_key(key: &SessionKey) -> SessionResult<()> {
    check_length(key, "app_name", key.app_name.as_str(), 128)?;
    check_length(key, "user_id", key.user_id.as_str(), 128)?;
    check_length(key, "session_id", key.session_id.as_str(), 128)
}

/// Refuses an event whose ids are longer than their columns. Returns its time as stored in the column.
pub(crate) fn check_event(key: &SessionKey, event: &Event) -> SessionResult<Time> {
    check_length(key, "id", &event.id().to_string(), 128)?;
    check_length(key, "invocation_id", event.invocation_id().as_str(), 256)?;
    check_time(key, "timestamp", event.timestamp())
}

/// Converts a time in seconds to the time of a column.
// S49
pub(crate) fn check_time(key: &SessionKey, field: &str, seconds: f64) -> SessionResult<Time> {
    prepare::calendar_time(key, field, seconds).map(Time)
}

fn check_length(key: &SessionKey, field: &str, text: &str, limit: usize) -> SessionResult<()> {
    // Compare bytes first, so that characters are counted only for long texts.
    if text.len() <= limit || text.chars().count() <= limit {
        return Ok(());
    }
    let reason = match limit {
        128 => "it is longer than 128 characters",
        _ => "it is longer than 256 characters",
    };
    Err(SessionError::Unstorable { key: key.clone(), field: field.to_owned(), reason })
}
