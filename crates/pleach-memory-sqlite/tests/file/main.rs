//! Memory in an SQLite file.
// S80, S82

mod faults;
mod golden;
mod rules;
mod sharing;

use std::path::PathBuf;
use std::sync::Arc;

use pleach_core::{Event, Map, Session, SessionKey};
use pleach_memory::{AddEvents, MemoryEntry, MemoryService as _, SearchMemory};
use pleach_memory_sqlite::SqliteMemoryService;
use tempfile::TempDir;

/// A temporary folder, and the path of a file in it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("memory.sqlite")
    }

    async fn open(&self) -> SqliteMemoryService {
        SqliteMemoryService::open(self.path()).await.expect("a memory")
    }
}

fn event(id: &str, time: f64, text: &str) -> Arc<Event> {
    let mut event = Event::message(text).with_author("user");
    event.set_id(id);
    event.set_timestamp(time);
    Arc::new(event)
}

fn session(id: &str, events: Vec<Arc<Event>>) -> Session {
    Session::from_parts(SessionKey::new("app", "u1", id), Map::new(), events, 1.0)
}

async fn add(service: &SqliteMemoryService, session: &str, events: Vec<Arc<Event>>) {
    let req = AddEvents::new("app", "u1", events).with_session(session);
    service.add_events_to_memory(req).await.expect("remembered");
}

async fn search(service: &SqliteMemoryService, query: &str) -> Vec<MemoryEntry> {
    let response = service.search_memory(SearchMemory::new("app", "u1", query)).await;
    response.expect("searched").memories
}

/// Returns the event ids that were found, in order.
async fn found(service: &SqliteMemoryService, query: &str) -> Vec<String> {
    let memories = search(service, query).await;
    memories.iter().map(|memory| memory.custom_metadata["event_id"].as_str().expect("an id").to_owned()).collect()
}
