//! [`Services`]: what all invocations of an app share.

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

/// Everything an app's invocations share. Made once by the Runner.
pub struct Services {
    /// Where sessions and their events are kept.
    pub sessions: Arc<dyn SessionService>,
    /// Where files are kept, if anywhere.
    pub artifacts: Option<Arc<dyn ArtifactService>>,
    /// Where earlier sessions are searched, if anywhere.
    pub memory: Option<Arc<dyn MemoryService>>,
    /// Where credentials are kept, if anywhere.
    pub credentials: Option<Arc<dyn CredentialService>>,
    /// What clients have sent to invocations under way.
    pub sent_credentials: KeptCredentials,
    /// The hooks around everything.
    pub plugins: PluginManager,
    /// The app's own values.
    pub provided: Provided,
    /// The model of agents that have none, and none above them.
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
