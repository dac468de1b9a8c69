//! The contract of every memory service.

use std::fmt;
use std::sync::Arc;

use pleach_core::{AppName, BoxFuture, Content, Event, Map, Session, SessionId, UserId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{MemoryError, MemoryResult};

/// Stores the messages of a user's sessions and searches in them.
///
/// Only events whose content has parts are stored.
///
/// # Example
/// ```
/// # use pleach_core::Session;
/// # use pleach_memory::{MemoryResult, MemoryService, SearchMemory};
/// async fn recall(memory: &dyn MemoryService, session: &Session) -> MemoryResult<usize> {
///     memory.add_session_to_memory(session).await?;
///     let found = memory.search_memory(SearchMemory::new("shop", "ana", "tea pot")).await?;
///     Ok(found.memories.len())
/// }
/// ```
///
/// ADK: `BaseMemoryService`
// S80
#[doc(alias = "BaseMemoryService")]
pub trait MemoryService: fmt::Debug + Send + Sync + 'static {
    /// Stores the current events of a session. They replace the events that were stored for it before.
    ///
    /// # Errors
    /// `Storage` if the storage failed.
    fn add_session_to_memory<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, MemoryResult<()>>;

    /// Stores more events. Events that are already stored do not change.
    ///
    /// # Errors
    /// `Unsupported` unless the service overrides this method; `Storage`.
    fn add_events_to_memory(&self, req: AddEvents) -> BoxFuture<'_, MemoryResult<()>> {
        drop(req);
        unsupported("add_events_to_memory")
    }

    /// Stores entries that come from no session. An entry with the id of a stored entry, as a search returns it,
    /// replaces that entry. An entry without an id gets one derived from its content, so that adding the same entry
    /// again stores it once.
    ///
    /// # Errors
    /// `Unsupported` unless the service overrides this method; `InvalidEntry` for an entry that the service cannot
    /// store, and then no entry is stored; `Storage`.
    fn add_memory(&self, req: AddMemory) -> BoxFuture<'_, MemoryResult<()>> {
        drop(req);
        unsupported("add_memory")
    }

    /// Finds the entries that match a query, best match first.
    ///
    /// # Errors
    /// `Storage` if the storage failed.
    fn search_memory(&self, req: SearchMemory) -> BoxFuture<'_, MemoryResult<SearchMemoryResponse>>;

    /// Removes an entry, which then stays removed when its session is added again. Removing a missing entry
    /// succeeds.
    ///
    /// # Errors
    /// `Unsupported` unless the service overrides this method; `Storage`.
    fn delete_memory(&self, req: DeleteMemory) -> BoxFuture<'_, MemoryResult<()>> {
        drop(req);
        unsupported("delete_memory")
    }
}

fn unsupported(operation: &'static str) -> BoxFuture<'static, MemoryResult<()>> {
    Box::pin(async move { Err(MemoryError::Unsupported { operation }) })
}

impl<S: MemoryService + ?Sized> MemoryService for Arc<S> {
    fn add_session_to_memory<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, MemoryResult<()>> {
        (**self).add_session_to_memory(session)
    }

    fn add_events_to_memory(&self, req: AddEvents) -> BoxFuture<'_, MemoryResult<()>> {
        (**self).add_events_to_memory(req)
    }

    fn add_memory(&self, req: AddMemory) -> BoxFuture<'_, MemoryResult<()>> {
        (**self).add_memory(req)
    }

    fn search_memory(&self, req: SearchMemory) -> BoxFuture<'_, MemoryResult<SearchMemoryResponse>> {
        (**self).search_memory(req)
    }

    fn delete_memory(&self, req: DeleteMemory) -> BoxFuture<'_, MemoryResult<()>> {
        (**self).delete_memory(req)
    }
}

/// A request to store events.
#[derive(Clone, Debug)]
pub struct AddEvents {
    /// The app.
    pub app_name: AppName,
    /// The user who owns the memory.
    pub user_id: UserId,
    /// The session that the events come from, if it is known.
    pub session_id: Option<SessionId>,
    /// The events.
    pub events: Vec<Arc<Event>>,
    /// The metadata of every entry that is created from these events.
    pub custom_metadata: Map,
}

impl AddEvents {
    /// Creates a request without session and metadata.
    pub fn new(app_name: impl Into<AppName>, user_id: impl Into<UserId>, events: Vec<Arc<Event>>) -> Self {
        Self {
            app_name: app_name.into(),
            user_id: user_id.into(),
            session_id: None,
            events,
            custom_metadata: Map::new(),
        }
    }

    /// Sets the session that the events come from.
    pub fn with_session(mut self, session_id: impl Into<SessionId>) -> Self {
        self.session_id = Some(session_id.into());
        self
    }

    /// Sets the metadata of the entries.
    pub fn with_custom_metadata(mut self, custom_metadata: Map) -> Self {
        self.custom_metadata = custom_metadata;
        self
    }
}

/// A request to store entries that come from no session.
#[derive(Clone, Debug)]
pub struct AddMemory {
    /// The app.
    pub app_name: AppName,
    /// The user who owns the memory.
    pub user_id: UserId,
    /// The entries.
    pub memories: Vec<MemoryEntry>,
    /// The metadata of every entry. If an entry has a value for the same key, that value is used.
    pub custom_metadata: Map,
}

impl AddMemory {
    /// Creates a request without metadata.
    pub fn new(app_name: impl Into<AppName>, user_id: impl Into<UserId>, memories: Vec<MemoryEntry>) -> Self {
        Self { app_name: app_name.into(), user_id: user_id.into(), memories, custom_metadata: Map::new() }
    }

    /// Sets the metadata of the entries.
    pub fn with_custom_metadata(mut self, custom_metadata: Map) -> Self {
        self.custom_metadata = custom_metadata;
        self
    }

    /// Returns the entries as a service stores them, each with its id and all its metadata.
    pub fn into_entries(self) -> Vec<(String, MemoryEntry)> {
        let common = self.custom_metadata;
        let identify = |entry: MemoryEntry| {
            let id = entry.id.clone().filter(|id| !id.is_empty()).unwrap_or_else(|| entry.derived_id());
            let mut custom_metadata = common.clone();
            custom_metadata.extend(entry.custom_metadata);
            (id.clone(), MemoryEntry { custom_metadata, id: Some(id), ..entry })
        };
        self.memories.into_iter().map(identify).collect()
    }
}

/// A search in a user's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchMemory {
    /// The app.
    pub app_name: AppName,
    /// The user who owns the memory.
    pub user_id: UserId,
    /// The query text.
    pub query: String,
}

impl SearchMemory {
    /// Creates a request.
    pub fn new(app_name: impl Into<AppName>, user_id: impl Into<UserId>, query: impl Into<String>) -> Self {
        Self { app_name: app_name.into(), user_id: user_id.into(), query: query.into() }
    }
}

/// A request to remove one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteMemory {
    /// The app.
    pub app_name: AppName,
    /// The user who owns the memory.
    pub user_id: UserId,
    /// The id of the entry, as returned by a search.
    pub memory_id: String,
}

impl DeleteMemory {
    /// Creates a request.
    pub fn new(app_name: impl Into<AppName>, user_id: impl Into<UserId>, memory_id: impl Into<String>) -> Self {
        Self { app_name: app_name.into(), user_id: user_id.into(), memory_id: memory_id.into() }
    }
}

/// The result of a search. ADK: `SearchMemoryResponse`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchMemoryResponse {
    /// The entries, best match first.
    #[serde(default)]
    pub memories: Vec<MemoryEntry>,
}

/// One entry of a memory. ADK: `MemoryEntry`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryEntry {
    /// The message.
    pub content: Content,
    /// The metadata that was set when the entry was added.
    #[serde(alias = "customMetadata", default)]
    pub custom_metadata: Map,
    /// The entry's id, with which it can be removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The time of the message: ISO 8601 without zone, in the local time of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

impl MemoryEntry {
    /// Creates an entry without metadata.
    pub fn new(content: Content) -> Self {
        Self { content, ..Self::default() }
    }

    fn derived_id(&self) -> String {
        let said = (&self.author, &self.timestamp, &self.content);
        // A content can always be written as JSON.
        short_digest(&serde_json::to_string(&said).unwrap_or_default())
    }
}

/// Returns the first half of a string's SHA-256, in hexadecimal digits. It serves as an id for data that has none.
pub fn short_digest(text: &str) -> String {
    Sha256::digest(text).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
