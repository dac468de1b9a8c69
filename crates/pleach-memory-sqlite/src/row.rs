//! Rows of `memory_events`: written from events, read as entries.

use pleach_core::{Content, Event, Map};
use pleach_memory::{MemoryEntry, MemoryResult, local_time};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::fault::File;
use crate::words;

/// One event as it is stored.
#[derive(Debug)]
pub(crate) struct NewRow {
    pub(crate) event_id: String,
    pub(crate) author: String,
    pub(crate) timestamp: f64,
    pub(crate) content_json: String,
    pub(crate) search_text: String,
}

impl NewRow {
    /// The row of an event; `None` when there is nothing in it to search for.
    pub(crate) fn of(event: &Event, max_indexed_bytes: usize) -> Option<serde_json::Result<Self>> {
        let content = event.content()?;
        let search_text = words::search_text(content, max_indexed_bytes);
        (!search_text.is_empty()).then(|| Self::new(event, content, search_text))
    }

    fn new(event: &Event, content: &Content, search_text: String) -> serde_json::Result<Self> {
        let (author, timestamp) = (event.author().to_owned(), event.timestamp());
        let content_json = serde_json::to_string(content)?;
        let event_id = match event.id().is_empty() {
            false => event.id().to_string(),
            // The same event must be recognised although it has no id.
            true => digest(&format!("{author}:{timestamp:?}:{content_json}")),
        };
        Ok(Self { event_id, author, timestamp, content_json, search_text })
    }
}

/// The first half of a SHA-256, in hexadecimal.
fn digest(text: &str) -> String {
    Sha256::digest(text).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a row that a search found.
pub(crate) fn entry(row: &SqliteRow, file: &File) -> MemoryResult<MemoryEntry> {
    let id: i64 = row.try_get("id").map_err(|error| file.fault(error))?;
    let text = |column: &str| {
        row.try_get::<String, _>(column).map_err(|error| file.corrupt(format_args!("{column} of entry {id}"), error))
    };
    let content: Content = serde_json::from_str(&text("content_json")?)
        .map_err(|error| file.corrupt(format_args!("content_json of entry {id}"), error))?;
    let timestamp: f64 =
        row.try_get("timestamp").map_err(|error| file.corrupt(format_args!("timestamp of entry {id}"), error))?;
    let custom_metadata: Map = [("session_id", text("session_id")?), ("event_id", text("event_id")?)]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    Ok(MemoryEntry {
        content,
        custom_metadata,
        id: Some(id.to_string()),
        author: Some(text("author")?).filter(|author| !author.is_empty()),
        timestamp: local_time(timestamp),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s82_events_without_id_get_one_from_what_they_say() {
        let mut event = Event::message("tea").with_author("ann");
        event.set_id("");
        event.set_timestamp(1_760_000_000.5);
        let row = NewRow::of(&event, 100).expect("a row").expect("a row");
        assert_eq!(row.content_json, r#"{"parts":[{"text":"tea"}],"role":"user"}"#);
        assert_eq!(row.event_id, "70c22b42f7f87e752fb2290930909b82");
    }
}
