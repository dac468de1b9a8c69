//! The rows of `memory_events`: written from events and entries, read as entries.

use pleach_core::{Content, Event, Map};
use pleach_memory::{MemoryEntry, MemoryResult, local_time, short_digest};
use serde_json::Value;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::fault::File;
use crate::words;

/// The session id of the entries of `add_memory`, which come from no event.
pub(crate) const ENTRIES_SESSION: &str = "__pleach_entries__";

/// An event or an entry, as it is stored.
#[derive(Debug)]
pub(crate) struct NewRow {
    pub(crate) event_id: String,
    pub(crate) author: String,
    pub(crate) timestamp: f64,
    pub(crate) content_json: String,
    pub(crate) search_text: String,
    pub(crate) custom_metadata: Map,
}

impl NewRow {
    /// Creates the row of an event; `None` if the event has no searchable text.
    pub(crate) fn of(
        event: &Event,
        custom_metadata: &Map,
        max_indexed_bytes: usize,
    ) -> Option<serde_json::Result<Self>> {
        let content = event.content()?;
        let search_text = words::search_text(content, max_indexed_bytes);
        (!search_text.is_empty()).then(|| Self::new(event, content, search_text, custom_metadata.clone()))
    }

    /// Creates the row of an entry that comes from no event; `None` if the entry has no searchable text.
    pub(crate) fn of_entry(
        event_id: String,
        entry: MemoryEntry,
        timestamp: f64,
        max_indexed_bytes: usize,
    ) -> Option<serde_json::Result<Self>> {
        let search_text = words::search_text(&entry.content, max_indexed_bytes);
        let row = |content_json| Self {
            event_id,
            author: entry.author.unwrap_or_default(),
            timestamp,
            content_json,
            search_text: search_text.clone(),
            custom_metadata: entry.custom_metadata,
        };
        (!search_text.is_empty()).then(|| serde_json::to_string(&entry.content).map(row))
    }

    fn new(event: &Event, content: &Content, search_text: String, custom_metadata: Map) -> serde_json::Result<Self> {
        let author = event.author().to_owned();
        let timestamp = event.timestamp();
        let content_json = serde_json::to_string(content)?;
        let event_id = if event.id().is_empty() {
            // An event without an id must be recognised when it is added again.
            short_digest(&format!("{author}:{timestamp:?}:{content_json}"))
        } else {
            event.id().to_string()
        };
        Ok(Self { event_id, author, timestamp, content_json, search_text, custom_metadata })
    }
}

/// Returns an entry's number in the file.
pub(crate) fn id(row: &SqliteRow, file: &File) -> MemoryResult<i64> {
    row.try_get("id").map_err(|error| file.fault(error))
}

/// Reads a row that a search found. The ids of the session and the event become part of the entry's metadata.
pub(crate) fn entry(row: &SqliteRow, given: Option<&Map>, file: &File) -> MemoryResult<MemoryEntry> {
    let id = id(row, file)?;
    let text = |column: &str| {
        row.try_get::<String, _>(column).map_err(|error| file.corrupt(format_args!("{column} of entry {id}"), error))
    };
    let content: Content = serde_json::from_str(&text("content_json")?)
        .map_err(|error| file.corrupt(format_args!("content_json of entry {id}"), error))?;
    let timestamp: f64 =
        row.try_get("timestamp").map_err(|error| file.corrupt(format_args!("timestamp of entry {id}"), error))?;
    let mut custom_metadata = given.cloned().unwrap_or_default();
    for key in ["session_id", "event_id"] {
        custom_metadata.insert(key.to_owned(), Value::from(text(key)?));
    }
    // An entry that comes from no event keeps its own id, so that it can be replaced.
    let id = if text("session_id")? == ENTRIES_SESSION { text("event_id")? } else { id.to_string() };
    Ok(MemoryEntry {
        content,
        custom_metadata,
        id: Some(id),
        author: Some(text("author")?).filter(|author| !author.is_empty()),
        timestamp: local_time(timestamp),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s82_events_without_id_get_one_from_their_content() {
        let mut event = Event::message("tea").with_author("ann");
        event.set_id("");
        event.set_timestamp(1_760_000_000.5);
        let row = NewRow::of(&event, &Map::new(), 100).expect("a row").expect("a row");
        assert_eq!(row.content_json, r#"{"parts":[{"text":"tea"}],"role":"user"}"#);
        assert_eq!(row.event_id, "70c22b42f7f87e752fb2290930909b82");
    }
}
