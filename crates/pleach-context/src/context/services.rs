//! Artifacts, memory and credentials from inside a node.
// R220

use std::sync::Arc;

use pleach_artifact::{ArtifactError, ArtifactKey, ArtifactScope, ArtifactService, ArtifactVersion, SaveArtifact};
use pleach_core::{AuthConfig, Map, Part, Session, UiWidget};
use pleach_memory::{AddEvents, AddMemory, DeleteMemory, MemoryEntry, MemoryError, MemoryService, SearchMemory};

use super::Context;
use crate::credential::auth_response;
use crate::engine::Engine as _;
use crate::{AuthCredential, CredentialService, NodeError};

impl Context {
    fn artifacts(&self) -> Result<(&dyn ArtifactService, ArtifactScope), NodeError> {
        let service = self.invocation().engine().services().artifacts.as_deref();
        let service = service.ok_or_else(|| {
            NodeError::value("Artifact service is not initialized.")
                .with_hint("give the runner one with `.artifacts(…)`")
        })?;
        Ok((service, ArtifactScope::session(self.invocation().session_key())))
    }

    fn artifact(&self, filename: &str) -> Result<(&dyn ArtifactService, ArtifactKey), NodeError> {
        let (service, scope) = self.artifacts()?;
        Ok((service, scope.artifact(filename)))
    }

    /// Saves a file as a new version and gives its number; the run's next event tells of it.
    ///
    /// A name starting with `user:` is shared by all sessions of the user.
    ///
    /// # Errors
    /// A `ValueError` without an artifact service; what the service refuses; a `RuntimeError` when the run has ended, also
    /// meanwhile.
    pub async fn save_artifact(&self, filename: &str, artifact: impl Into<Part>) -> Result<i64, NodeError> {
        self.save_artifact_with(filename, artifact, Map::new()).await
    }

    /// Saves a file with metadata of its own. See [`Context::save_artifact`].
    ///
    /// # Errors
    /// As [`Context::save_artifact`].
    pub async fn save_artifact_with(
        &self,
        filename: &str,
        artifact: impl Into<Part>,
        metadata: Map,
    ) -> Result<i64, NodeError> {
        let (service, key) = self.artifact(filename)?;
        if self.cell().parking.ended {
            return Err(self.has_ended());
        }
        let request = SaveArtifact::new(key, artifact).with_custom_metadata(metadata);
        let version = service.save_artifact(request).await.map_err(artifact_error)?;
        let mut cell = self.cell();
        if cell.parking.ended {
            // The file is saved, but no event will show it.
            return Err(self.has_ended());
        }
        cell.actions.artifact_delta_mut().insert(filename.to_owned(), version);
        Ok(version)
    }

    /// Loads a file, the newest version unless one is named; `None` if there is none.
    ///
    /// # Errors
    /// A `ValueError` without an artifact service; what the service refuses.
    pub async fn load_artifact(&self, filename: &str, version: Option<i64>) -> Result<Option<Part>, NodeError> {
        let (service, key) = self.artifact(filename)?;
        service.load_artifact(&key, version).await.map_err(artifact_error)
    }

    /// The names of the session's and the user's files, sorted.
    ///
    /// # Errors
    /// A `ValueError` without an artifact service; what the service refuses.
    pub async fn list_artifacts(&self) -> Result<Vec<String>, NodeError> {
        let (service, scope) = self.artifacts()?;
        service.list_artifact_keys(&scope).await.map_err(artifact_error)
    }

    /// What is known about one version of a file, the newest unless one is named.
    ///
    /// # Errors
    /// A `ValueError` without an artifact service; what the service refuses.
    pub async fn get_artifact_version(
        &self,
        filename: &str,
        version: Option<i64>,
    ) -> Result<Option<ArtifactVersion>, NodeError> {
        let (service, key) = self.artifact(filename)?;
        service.get_artifact_version(&key, version).await.map_err(artifact_error)
    }

    fn memory(&self) -> Result<&dyn MemoryService, NodeError> {
        let service = self.invocation().engine().services().memory.as_deref();
        service.ok_or_else(|| {
            NodeError::value("Memory service is not available.").with_hint("give the runner one with `.memory(…)`")
        })
    }

    /// Searches the user's earlier sessions.
    ///
    /// # Errors
    /// A `ValueError` without a memory service; what the service refuses.
    pub async fn search_memory(&self, query: impl Into<String>) -> Result<Vec<MemoryEntry>, NodeError> {
        let key = self.invocation().session_key();
        let request = SearchMemory::new(key.app_name.clone(), key.user_id.clone(), query);
        Ok(self.memory()?.search_memory(request).await.map_err(memory_error)?.memories)
    }

    /// Adds this session, as far as it is stored, to the memory.
    ///
    /// # Errors
    /// A `ValueError` without a memory service; what the service refuses.
    pub async fn add_session_to_memory(&self) -> Result<(), NodeError> {
        let ic = self.invocation();
        let (state, events) = (ic.with_state(Map::clone), ic.events());
        let session = Session::from_parts(ic.session_key().clone(), state, events, ic.engine().services().clock.now());
        self.memory()?.add_session_to_memory(&session).await.map_err(memory_error)
    }

    /// Adds some events of this session to the memory.
    ///
    /// # Errors
    /// A `ValueError` without a memory service; what the service refuses.
    pub async fn add_events_to_memory(&self, events: Vec<Arc<pleach_core::Event>>) -> Result<(), NodeError> {
        let key = self.invocation().session_key();
        let request =
            AddEvents::new(key.app_name.clone(), key.user_id.clone(), events).with_session(key.session_id.clone());
        self.memory()?.add_events_to_memory(request).await.map_err(memory_error)
    }

    /// Adds entries to the memory.
    ///
    /// # Errors
    /// A `ValueError` without a memory service, a `NotImplementedError` when the service has no such operation.
    pub async fn add_memory(&self, memories: Vec<MemoryEntry>) -> Result<(), NodeError> {
        let key = self.invocation().session_key();
        let (app_name, user_id) = (key.app_name.clone(), key.user_id.clone());
        let request = AddMemory { app_name, user_id, memories, custom_metadata: Map::new() };
        self.memory()?.add_memory(request).await.map_err(memory_error)
    }

    /// Deletes an entry of the memory.
    ///
    /// # Errors
    /// A `ValueError` without a memory service, a `NotImplementedError` when the service has no such operation.
    pub async fn delete_memory(&self, memory_id: impl Into<String>) -> Result<(), NodeError> {
        let key = self.invocation().session_key();
        let request = DeleteMemory::new(key.app_name.clone(), key.user_id.clone(), memory_id);
        self.memory()?.delete_memory(request).await.map_err(memory_error)
    }

    fn credentials(&self) -> Result<&dyn CredentialService, NodeError> {
        let service = self.invocation().engine().services().credentials.as_deref();
        service.ok_or_else(|| {
            NodeError::value("Credential service is not initialized.")
                .with_hint("give the runner one with `.credentials(…)`")
        })
    }

    /// Keeps the credential that `config` brings along.
    ///
    /// # Errors
    /// A `ValueError` without a credential service; what the service refuses.
    pub async fn save_credential(&self, config: &AuthConfig) -> Result<(), NodeError> {
        self.credentials()?.save_credential(config, self).await
    }

    /// The credential that is kept for `config`.
    ///
    /// # Errors
    /// A `ValueError` without a credential service; what the service refuses.
    pub async fn load_credential(&self, config: &AuthConfig) -> Result<Option<AuthCredential>, NodeError> {
        self.credentials()?.load_credential(config, self).await
    }

    /// The credential that a client has sent for `config`: in this invocation, else one kept in the session's state.
    ///
    /// The OAuth client's id and secret are those of `config`. ADK: `get_auth_response`.
    #[must_use]
    pub fn get_auth_response(&self, config: &AuthConfig) -> Option<AuthCredential> {
        auth_response(config, self)
    }

    /// Shows a widget to the user, on the run's next event.
    ///
    /// # Errors
    /// A `ValueError` when the run already shows one with this id.
    pub fn render_ui_widget(&self, widget: UiWidget) -> Result<(), NodeError> {
        let mut cell = self.cell();
        if cell.parking.ended {
            return Err(self.has_ended());
        }
        let mut widgets = cell.actions.render_ui_widgets().unwrap_or_default().to_vec();
        if widgets.iter().any(|known| known.id == widget.id) {
            return Err(NodeError::value(format!("UI widget with id '{}' already exists.", widget.id)));
        }
        widgets.push(widget);
        cell.actions.set_render_ui_widgets(Some(widgets));
        Ok(())
    }
}

fn artifact_error(error: ArtifactError) -> NodeError {
    NodeError::new(error.code(), error.to_string()).with_source(error)
}

fn memory_error(error: MemoryError) -> NodeError {
    NodeError::new(error.code(), error.to_string()).with_source(error)
}
