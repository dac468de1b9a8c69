//! [`InMemoryMemoryService`]: keyword search in process memory.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use pleach_core::{AppName, BoxFuture, Content, Event, EventId, Map, Session, SessionId, UserId};

use crate::{
    AddEvents, AddMemory, DeleteMemory, MemoryEntry, MemoryResult, MemoryService, SearchMemory, SearchMemoryResponse,
    local_time, words,
};

/// The largest number of entries that a search returns.
// S81
const MAX_RESULTS: usize = 10;

/// Stores events in memory and finds them by the words that they share with a query. It can be shared between threads.
///
/// Events are ranked by the number of distinct words of the query that they contain. Events with equal rank are in the
/// order in which they were added, before the entries of `add_memory`. A word matches only whole words, except that a
/// word that is not ASCII also matches inside longer words.
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

/// The memory of one user. Events without a session are stored under `None`.
#[derive(Debug, Default)]
struct Memory {
    sessions: IndexMap<Option<SessionId>, Vec<Remembered<AddedEvent>>>,
    /// The entries by id.
    entries: IndexMap<EventId, Remembered<MemoryEntry>>,
    forgotten: HashSet<EventId>,
}

/// An event or an entry, with its searchable words.
#[derive(Debug)]
struct Remembered<T> {
    what: T,
    words: HashSet<String>,
    lower: String,
}

/// An event, and the metadata that it was added with.
#[derive(Debug)]
struct AddedEvent {
    event: Arc<Event>,
    custom_metadata: Map,
}

impl InMemoryMemoryService {
    /// Creates an empty memory.
    pub fn new() -> Self {
        Self::default()
    }

    fn users(&self) -> MutexGuard<'_, HashMap<(AppName, UserId), Memory>> {
        // Code that holds the lock does not panic between two changes.
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_session(&self, session: &Session) {
        let key = session.key();
        let remembered: Vec<_> = remember(&session.events, &Map::new()).collect();
        let mut users = self.users();
        let memory = users.entry((key.app_name.clone(), key.user_id.clone())).or_default();
        let kept = remembered.into_iter().filter(|r| !memory.forgotten.contains(r.what.event.id()));
        let kept = kept.collect();
        memory.sessions.insert(Some(key.session_id.clone()), kept);
    }

    fn add_events(&self, req: AddEvents) {
        let remembered: Vec<_> = remember(&req.events, &req.custom_metadata).collect();
        let session = req.session_id.filter(|id| !id.is_empty());
        let mut users = self.users();
        let memory = users.entry((req.app_name, req.user_id)).or_default();
        let held = memory.sessions.entry(session).or_default();
        let mut known: HashSet<EventId> = held.iter().map(|r| r.what.event.id().clone()).collect();
        for new in remembered {
            let id = new.what.event.id();
            if !memory.forgotten.contains(id) && known.insert(id.clone()) {
                held.push(new);
            }
        }
    }

    fn add_entries(&self, req: AddMemory) {
        let (user, entries) = ((req.app_name.clone(), req.user_id.clone()), req.into_entries());
        let mut users = self.users();
        let memory = users.entry(user).or_default();
        for (id, entry) in entries {
            let words = Remembered::of(&entry.content, ());
            let Some(Remembered { words, lower, .. }) = words else { continue };
            let id = EventId::from(id);
            memory.forget_event(&id);
            memory.entries.insert(id, Remembered { what: entry, words, lower });
        }
    }

    fn search(&self, req: SearchMemory) -> SearchMemoryResponse {
        let query = words::of_query(&req.query);
        let users = self.users();
        let Some(memory) = users.get(&(req.app_name, req.user_id)) else { return SearchMemoryResponse::default() };
        let events = memory.sessions.values().flatten().map(|said| (said.score(&query), Found::Event(&said.what)));
        let entries = memory.entries.values().map(|entry| (entry.score(&query), Found::Entry(&entry.what)));
        let mut found: Vec<(usize, Found<'_>)> = events.chain(entries).filter(|(score, _)| *score > 0).collect();
        found.sort_by_key(|(score, _)| Reverse(*score));
        SearchMemoryResponse { memories: found.into_iter().take(MAX_RESULTS).map(|(_, found)| found.entry()).collect() }
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
        memory.entries.shift_remove(&id);
        memory.forget_event(&id);
    }
}

impl Memory {
    /// Removes an event, and ignores it when its session is added again.
    fn forget_event(&mut self, id: &EventId) {
        for held in self.sessions.values_mut() {
            let before = held.len();
            held.retain(|remembered| remembered.what.event.id() != id);
            if held.len() != before {
                self.forgotten.insert(id.clone());
            }
        }
    }
}

/// Returns the events that have content, with their words.
fn remember(events: &[Arc<Event>], custom_metadata: &Map) -> impl Iterator<Item = Remembered<AddedEvent>> {
    events.iter().filter_map(|event| {
        let said = AddedEvent { event: Arc::clone(event), custom_metadata: custom_metadata.clone() };
        Remembered::of(event.content()?, said)
    })
}

impl<T> Remembered<T> {
    /// Adds the words of a content; `None` if it has no parts.
    fn of(content: &Content, what: T) -> Option<Self> {
        let parts = content.parts();
        if parts.is_empty() {
            return None;
        }
        let texts: Vec<&str> =
            parts.iter().filter_map(|part| part.text.as_deref()).filter(|text| !text.is_empty()).collect();
        let text = words::composed(&texts.join(" "));
        Some(Self { what, words: words::of_text(&text), lower: text.to_lowercase() })
    }

    /// Returns the number of the query's words that the text contains.
    fn score(&self, query: &HashSet<String>) -> usize {
        let contains = |word: &String| !word.is_ascii() && self.lower.contains(word.as_str());
        query.iter().filter(|word| self.words.contains(*word) || contains(word)).count()
    }
}

/// A result of a search.
enum Found<'a> {
    Event(&'a AddedEvent),
    Entry(&'a MemoryEntry),
}

impl Found<'_> {
    fn entry(&self) -> MemoryEntry {
        match self {
            Self::Event(AddedEvent { event, custom_metadata }) => MemoryEntry {
                content: event.content().cloned().unwrap_or_default(),
                custom_metadata: custom_metadata.clone(),
                id: Some(event.id().to_string()),
                author: Some(event.author().to_owned()),
                timestamp: local_time(event.timestamp()),
            },
            Self::Entry(entry) => (*entry).clone(),
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

    fn add_memory(&self, req: AddMemory) -> BoxFuture<'_, MemoryResult<()>> {
        Box::pin(async move {
            self.add_entries(req);
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
