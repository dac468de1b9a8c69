//! [`Base`]: the settings that a [`Server`](crate::Server) and a standalone inspector have in common, with their
//! defaults.

use std::collections::BTreeMap;
use std::sync::Arc;

use pleach_context::SystemClock;
use pleach_core::{Clock, RandomIds};
use pleach_session::SessionService;
use tokio::sync::watch;

use crate::api::Api;
use crate::caller::FindCaller;
use crate::origins::Origins;
use crate::runs::{RunSlots, SessionTurns};
use crate::{CallerRights, ServerError, ServerLimits};

/// The settings that every server has.
pub(crate) struct Base {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: ServerLimits,
    pub(crate) origins: Vec<String>,
    pub(crate) caller: FindCaller,
    pub(crate) caller_rights: CallerRights,
}

impl Default for Base {
    fn default() -> Self {
        let limits = ServerLimits::default();
        let caller = FindCaller::default();
        Self {
            clock: Arc::new(SystemClock),
            limits,
            origins: Vec::new(),
            caller,
            caller_rights: CallerRights::default(),
        }
    }
}

impl Base {
    /// Returns a server with this session service, but without apps or other services.
    ///
    /// # Errors
    /// [`ServerError::Origin`].
    pub(crate) fn api(self, sessions: Arc<dyn SessionService>) -> Result<Api, ServerError> {
        Ok(Api {
            runners: BTreeMap::new(),
            sessions,
            artifacts: None,
            memory: None,
            clock: self.clock,
            ids: Arc::new(RandomIds),
            limits: self.limits,
            origins: Origins::new(self.origins).map_err(|error| ServerError::Origin(Box::new(error)))?,
            caller: self.caller,
            caller_rights: self.caller_rights,
            default_app: None,
            prefix: String::new(),
            auto_create_session: false,
            detaches_runs: false,
            timers: false,
            slots: RunSlots::default(),
            followers: RunSlots::default(),
            turns: SessionTurns::default(),
            changes: SessionTurns::default(),
            #[cfg(feature = "inspect")]
            inspection: crate::inspection::Inspection::Off,
            #[cfg(feature = "inspect")]
            readers: crate::inspection::Readers::default(),
            #[cfg(feature = "dev")]
            is_dev: false,
            #[cfg(feature = "dev")]
            traces: None,
            #[cfg(feature = "dev")]
            open_to_others: crate::dev::are_open_to_others(),
            #[cfg(feature = "dev")]
            dev_ui: None,
            #[cfg(feature = "dev")]
            backend_url: String::new(),
            #[cfg(feature = "dev")]
            consent: crate::dev::Consent::default(),
            ending: watch::Sender::new(false),
        })
    }
}
