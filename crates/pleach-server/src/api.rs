//! [`Api`]: the services, settings and counters that all requests of a server share.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::Request;
use pleach_artifact::ArtifactService;
use pleach_core::{Clock, IdGen};
use pleach_memory::MemoryService;
use pleach_runner::Runner;
use pleach_session::SessionService;
use tokio::sync::watch;

use crate::body::{Lists, Payload};
use crate::caller::FindCaller;
use crate::error::ApiError;
use crate::names::unknown_app;
use crate::origins::Origins;
use crate::runs::{RunSlots, SessionTurns};
use crate::{CallerRights, ServerLimits};

/// The services, settings and counters that all requests of a server share.
pub(crate) struct Api {
    pub(crate) runners: BTreeMap<String, Runner>,
    pub(crate) sessions: Arc<dyn SessionService>,
    pub(crate) artifacts: Option<Arc<dyn ArtifactService>>,
    pub(crate) memory: Option<Arc<dyn MemoryService>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdGen>,
    pub(crate) limits: ServerLimits,
    pub(crate) origins: Origins,
    pub(crate) caller: FindCaller,
    /// The rights of callers that are bound to a user.
    pub(crate) caller_rights: CallerRights,
    pub(crate) default_app: Option<String>,
    /// The path under which clients see the routes.
    pub(crate) prefix: String,
    pub(crate) auto_create_session: bool,
    /// Whether a run continues after its client has disconnected.
    pub(crate) detaches_runs: bool,
    /// Whether the server starts the timers of its Runners when it begins to serve.
    pub(crate) timers: bool,
    pub(crate) slots: RunSlots,
    pub(crate) followers: RunSlots,
    pub(crate) turns: SessionTurns,
    /// Lets requests that change a session's state run one after the other. They do not wait for runs.
    pub(crate) changes: SessionTurns,
    /// Whether the server has the routes of the development server.
    #[cfg(feature = "dev")]
    pub(crate) is_dev: bool,
    #[cfg(feature = "dev")]
    pub(crate) traces: Option<crate::Traces>,
    /// Whether clients on other machines may use the development server's routes that change or execute something.
    #[cfg(feature = "dev")]
    pub(crate) open_to_others: bool,
    #[cfg(feature = "inspect")]
    pub(crate) inspection: crate::inspection::Inspection,
    #[cfg(feature = "inspect")]
    pub(crate) readers: crate::inspection::Readers,
    #[cfg(feature = "dev")]
    pub(crate) dev_ui: Option<crate::dev::DevUi>,
    /// The prefix as the UI receives it: a path, or a whole URL.
    #[cfg(feature = "dev")]
    pub(crate) backend_url: String,
    #[cfg(feature = "dev")]
    pub(crate) consent: crate::dev::Consent,
    /// Becomes true when the server shuts down; followers then end.
    pub(crate) ending: watch::Sender<bool>,
}

impl Api {
    /// Returns the Runner of an app.
    ///
    /// # Errors
    /// 404 and 403 for a name that is not served.
    pub(crate) fn runner(&self, app: &str) -> Result<&Runner, ApiError> {
        self.runners.get(app).ok_or_else(|| unknown_app(app))
    }

    /// Returns the artifact service.
    ///
    /// # Errors
    /// 400 if the server has none.
    pub(crate) fn artifacts(&self) -> Result<&Arc<dyn ArtifactService>, ApiError> {
        self.artifacts.as_ref().ok_or_else(|| ApiError::bad_request("Artifact service is not configured."))
    }

    /// Returns the memory service.
    ///
    /// # Errors
    /// 400 if the server has none.
    // H39
    pub(crate) fn memory(&self) -> Result<&Arc<dyn MemoryService>, ApiError> {
        self.memory.as_ref().ok_or_else(|| ApiError::bad_request("Memory service is not configured."))
    }

    /// Reads a body within the limits.
    ///
    /// # Errors
    /// See [`Payload::read`].
    pub(crate) async fn payload(&self, request: Request) -> Result<Payload, ApiError> {
        Payload::read(request, Lists::None, &self.limits, &*self.clock).await
    }

    /// Reads a body with a message or events within the limits.
    ///
    /// # Errors
    /// See [`Payload::read`].
    pub(crate) async fn payload_with_messages(&self, request: Request) -> Result<Payload, ApiError> {
        Payload::read(request, Lists::Messages, &self.limits, &*self.clock).await
    }

    /// Returns true if the server is shutting down and accepts no new runs.
    pub(crate) fn is_ending(&self) -> bool {
        *self.ending.borrow()
    }
}
