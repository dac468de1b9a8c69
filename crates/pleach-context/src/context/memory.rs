//! The methods of `Context` for the memory of the user's earlier sessions.
// R220

use std::sync::Arc;

use pleach_core::{Map, Session};
use pleach_memory::{AddEvents, AddMemory, DeleteMemory, MemoryEntry, MemoryError, MemoryService, SearchMemory};

use super::Context;
use crate::NodeError;

impl Context {
    fn memory(&self) -> Result<&dyn MemoryService, NodeError> {
        let service = self.inner.invocation.services().memory.as_deref();
        service.ok_or_else(|| {
            NodeError::value("Memory service is not available.").with_hint("give the runner one with `.memory(…)`")
        })
    }

    /// Searches the user's earlier sessions.
    ///
    /// # Errors
    /// A `ValueError` if there is no memory service; the error of the service if it refuses the request.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn search_memory(&self, query: impl Into<String>) -> Result<Vec<MemoryEntry>, NodeError> {
        let key = self.invocation().session_key();
        let request = SearchMemory::new(key.app_name.clone(), key.user_id.clone(), query);
        Ok(self.memory()?.search_memory(request).await.map_err(memory_error)?.memories)
    }

    /// Adds the stored part of this session to the memory.
    ///
    /// # Errors
    /// A `ValueError` if there is no memory service; the error of the service if it refuses the request.
    ///
    /// # Cancel safety
    /// If the future is dropped, the service may have added the session; adding it again is safe.
    pub async fn add_session_to_memory(&self) -> Result<(), NodeError> {
        let ic = &self.inner.invocation;
        let (state, events) = (ic.with_state(Map::clone), ic.events());
        let session = Session::from_parts(ic.session_key().clone(), state, events, ic.services().clock.now());
        self.memory()?.add_session_to_memory(&session).await.map_err(memory_error)
    }

    /// Adds some events of this session to the memory.
    ///
    /// # Errors
    /// A `ValueError` if there is no memory service; the error of the service if it refuses the request.
    ///
    /// # Cancel safety
    /// If the future is dropped, the service may have added the events; adding them again is safe.
    pub async fn add_events_to_memory(&self, events: Vec<Arc<pleach_core::Event>>) -> Result<(), NodeError> {
        self.add_events_to_memory_with(events, Map::new()).await
    }

    /// Adds some events of this session to the memory, with metadata for the entries that the service makes of them.
    ///
    /// # Errors
    /// As [`add_events_to_memory`](Self::add_events_to_memory).
    ///
    /// # Cancel safety
    /// As [`add_events_to_memory`](Self::add_events_to_memory).
    pub async fn add_events_to_memory_with(
        &self,
        events: Vec<Arc<pleach_core::Event>>,
        custom_metadata: Map,
    ) -> Result<(), NodeError> {
        let key = self.invocation().session_key();
        let request = AddEvents::new(key.app_name.clone(), key.user_id.clone(), events)
            .with_session(key.session_id.clone())
            .with_custom_metadata(custom_metadata);
        self.memory()?.add_events_to_memory(request).await.map_err(memory_error)
    }

    /// Adds entries to the memory.
    ///
    /// # Errors
    /// A `ValueError` if there is no memory service, a `NotImplementedError` if the service has no such operation.
    ///
    /// # Cancel safety
    /// If the future is dropped, the service may have added the entries; adding them again may store them twice.
    pub async fn add_memory(&self, memories: Vec<MemoryEntry>) -> Result<(), NodeError> {
        self.add_memory_with(memories, Map::new()).await
    }

    /// Adds entries to the memory, with metadata for the service.
    ///
    /// # Errors
    /// As [`add_memory`](Self::add_memory).
    ///
    /// # Cancel safety
    /// As [`add_memory`](Self::add_memory).
    pub async fn add_memory_with(&self, memories: Vec<MemoryEntry>, custom_metadata: Map) -> Result<(), NodeError> {
        let key = self.invocation().session_key();
        let (app_name, user_id) = (key.app_name.clone(), key.user_id.clone());
        let request = AddMemory { app_name, user_id, memories, custom_metadata };
        self.memory()?.add_memory(request).await.map_err(memory_error)
    }

    /// Deletes an entry from the memory.
    ///
    /// # Errors
    /// A `ValueError` if there is no memory service, a `NotImplementedError` if the service has no such operation.
    ///
    /// # Cancel safety
    /// If the future is dropped, the entry may have been deleted; deleting it again is safe.
    pub async fn delete_memory(&self, memory_id: impl Into<String>) -> Result<(), NodeError> {
        let key = self.invocation().session_key();
        let request = DeleteMemory::new(key.app_name.clone(), key.user_id.clone(), memory_id);
        self.memory()?.delete_memory(request).await.map_err(memory_error)
    }
}

fn memory_error(error: MemoryError) -> NodeError {
    NodeError::new(error.code(), error.to_string()).with_source(error)
}
