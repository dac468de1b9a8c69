//! [`InMemoryMemoryService`]: keyword search in process memory.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use pleach_core::{AppName, BoxFuture, Event, EventId, Map, Session, SessionId, UserId};

use crate::{
    AddEvents, DeleteMemory, MemoryEntry, MemoryResult, MemoryService, SearchMemory, SearchMemoryResponse, local_time,
    words,
};

/// The maximum of entries that a search returns.
// S81
const MAX_RESULTS: usize = 10;

/// Stores events in memory and finds them by the words that they share with a query. Safe to share between threads.
///
/// Events are ranked by the number of distinct words of the query that they contain; equal ones are in the order of their
/// addition. A word matches whole words only, except that a word that is not ASCII also matches inside of longer ones.
///
/// # Example
/// ```
/// # use pleach_core::Session;
/// # use pleach_memory::{InMemoryMemoryService, MemoryResult, MemoryService, SearchMemory};
/// async fn recall(session: &Session) -> MemoryResult<usize> {
///     let memory = InMemoryMemoryService::new();
///     memory.add_session_to_memory(session).await?;
///     let found = memory.search_memory(SearchMemory::new("shop", "ana", "green tea")).await?;
///     Ok(found.memories.len())
/// }
/// ```
///
/// ADK: `InMemoryMemoryService`
// S81
#[derive(Debug, Default)]
pub struct InMemoryMemoryService {
    users: Mutex<HashMap<(AppName, UserId), Memory>>,
}

/// The events of one user. Those without a session are stored under `None`.
#[derive(Debug, Default)]
struct Memory {
    sessions: IndexMap<Option<SessionId>, Vec<Remembered>>,
    forgotten: HashSet<EventId>,
}

/// An event with its searchable words.
#[derive(Debug)]
struct Remembered {
    event: Arc<Event>,
    custom_metadata: Map,
    words: HashSet<String>,
    lower: String,
}

impl InMemoryMemoryService {
    /// Makes an empty memory.
    pub fn new() -> Self {
        Self::default()
    }

    fn users(&self) -> MutexGuard<'_, HashMap<(AppName, UserId), Memory>> {
        // No code that holds the lock panics between two changes.
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_session(&self, session: &Session) {
        let key = session.key();
        let remembered: Vec<Remembered> = remember(&session.events, &Map::new()).collect();
        let mut users = self.users();
        let memory = users.entry((key.app_name.clone(), key.user_id.clone())).or_default();
        let kept = remembered.into_iter().filter(|r| !memory.forgotten.contains(r.event.id()));
        let kept = kept.collect();
        memory.sessions.insert(Some(key.session_id.clone()), kept);
    }

    fn add_events(&self, req: AddEvents) {
        let remembered: Vec<Remembered> = remember(&req.events, &req.custom_metadata).collect();
        let session = req.session_id.filter(|id| !id.is_empty());
        let mut users = self.users();
        let memory = users.entry((req.app_name, req.user_id)).or_default();
        let held = memory.sessions.entry(session).or_default();
        let mut known: HashSet<EventId> = held.iter().map(|r| r.event.id().clone()).collect();
        for new in remembered {
            let id = new.event.id();
            if !memory.forgotten.contains(id) && known.insert(id.clone()) {
                held.push(new);
            }
        }
    }

    fn search(&self, req: SearchMemory) -> SearchMemoryResponse {
        let query = words::of_query(&req.query);
        let users = self.users();
        let memory = users.get(&(req.app_name, req.user_id));
        let mut found: Vec<(usize, &Remembered)> = memory
            .into_iter()
            .flat_map(|memory| memory.sessions.values().flatten())
            .map(|remembered| (remembered.score(&query), remembered))
            .filter(|(score, _)| *score > 0)
            .collect();
        found.sort_by_key(|(score, _)| Reverse(*score));
        SearchMemoryResponse {
            memories: found.into_iter().take(MAX_RESULTS).map(|(_, remembered)| remembered.entry()).collect(),
        }
    }

    fn delete(&self, req: DeleteMemory) {
        let id = EventId::from(req.memory_id);
        if id.is_empty() {
            return;
        }
        let mut users = self.users();
        let Some(memory) = users.get_mut(&(req.app_name, req.user_id)) else {
            return;
        };
        for held in memory.sessions.values_mut() {
            let before = held.len();
            held.retain(|remembered| *remembered.event.id() != id);
            if held.len() != before {
                memory.forgotten.insert(id.clone());
            }
        }
    }
}

/// Returns the events that have text, with their words.
fn remember(events: &[Arc<Event>], custom_metadata: &Map) -> impl Iterator<Item = Remembered> {
    events.iter().filter_map(|event| {
        let parts = event.content()?.parts();
        if parts.is_empty() {
            return None;
        }
        let texts: Vec<&str> =
            parts.iter().filter_map(|part| part.text.as_deref()).filter(|text| !text.is_empty()).collect();
        let text = words::composed(&texts.join(" "));
        Some(Remembered {
            event: Arc::clone(event),
            custom_metadata: custom_metadata.clone(),
            words: words::of_text(&text),
            lower: text.to_lowercase(),
        })
    })
}

impl Remembered {
    /// Returns the number of words of the query that the event contains.
    fn score(&self, query: &HashSet<String>) -> usize {
        let contains = |word: &String| !word.is_ascii() && self.lower.contains(word.as_str());
        query.iter().filter(|word| self.words.contains(*word) || contains(word)).count()
    }

    fn entry(&self) -> MemoryEntry {
        MemoryEntry {
            content: self.event.content().cloned().unwrap_or_default(),
            custom_metadata: self.custom_metadata.clone(),
            id: Some(self.event.id().to_string()),
            author: Some(self.event.author().to_owned()),
            timestamp: local_time(self.event.timestamp()),
        }
    }
}

impl MemoryService for InMemoryMemoryService {
    fn add_session_to_memory<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, MemoryResult<()>> {
        Box::pin(async move {
            self.add_session(session);
            Ok(())
        })
    }

    fn add_events_to_memory(&self, req: AddEvents) -> BoxFuture<'_, MemoryResult<()>> {
        Box::pin(async move {
            self.add_events(req);
            Ok(())
        })
    }

    fn search_memory(&self, req: SearchMemory) -> BoxFuture<'_, MemoryResult<SearchMemoryResponse>> {
        Box::pin(async move { Ok(self.search(req)) })
    }

    fn delete_memory(&self, req: DeleteMemory) -> BoxFuture<'_, MemoryResult<()>> {
        Box::pin(async move {
            self.delete(req);
            Ok(())
        })
    }
}
