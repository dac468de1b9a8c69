//! [`Services`]: the services that all invocations of an app share.

use std::fmt;
use std::sync::Arc;

use pleach_artifact::ArtifactService;
use pleach_core::{Clock, IdGen};
use pleach_memory::MemoryService;
use pleach_model::Model;
use pleach_session::SessionService;

use crate::credential::KeptCredentials;
use crate::plugin::PluginManager;
use crate::{CredentialService, Provided};

/// Everything that an app's invocations share. The Runner makes it once.
pub struct Services {
    /// The service that stores sessions and their events.
    pub sessions: Arc<dyn SessionService>,
    /// The service that stores files, if there is one.
    pub artifacts: Option<Arc<dyn ArtifactService>>,
    /// The service that searches earlier sessions, if there is one.
    pub memory: Option<Arc<dyn MemoryService>>,
    /// The service that stores credentials, if there is one.
    pub credentials: Option<Arc<dyn CredentialService>>,
    /// The credentials that clients have sent to running invocations.
    pub sent_credentials: KeptCredentials,
    /// The plugins of the app.
    pub plugins: PluginManager,
    /// The values that the app provides.
    pub provided: Provided,
    /// The model for agents that have none, if no agent above them has one either.
    pub model: Option<Arc<dyn Model>>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The source of ids and randomness.
    pub ids: Arc<dyn IdGen>,
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("sessions", &self.sessions)
            .field("plugins", &self.plugins)
            .finish_non_exhaustive()
    }
}
