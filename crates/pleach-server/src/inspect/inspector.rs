//! [`Inspector`]: an inspector over a session service alone.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use http::request::Parts;
use pleach_context::SystemClock;
use pleach_core::{Clock, RandomIds};
use pleach_session::SessionService;
use tokio::net::ToSocketAddrs;
use tokio::sync::watch;

use crate::api::Api;
use crate::caller::FindCaller;
use crate::inspection::Inspection;
use crate::origins::Origins;
use crate::runs::{RunSlots, Turns};
use crate::{ApiServer, BoundServer, Caller, ServerError, ServerLimits};

/// Serves an inspector of a session service that only reads: for any database, whichever program writes it. It is at `/inspect/`.
///
/// # Example
/// ```no_run
/// # use pleach_server::Inspector;
/// # use pleach_session::SessionService;
/// # async fn example(sessions: impl SessionService) -> Result<(), Box<dyn std::error::Error>> {
/// Inspector::new(sessions).bind("127.0.0.1:8001").await?.serve().await;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Inspector {
    sessions: Arc<dyn SessionService>,
    clock: Arc<dyn Clock>,
    limits: ServerLimits,
    origins: Vec<String>,
    caller: FindCaller,
}

impl Inspector {
    /// Returns an inspector of these sessions.
    pub fn new(sessions: impl SessionService) -> Self {
        Self {
            sessions: Arc::new(sessions),
            clock: Arc::new(SystemClock),
            limits: ServerLimits::default(),
            origins: Vec::new(),
            caller: FindCaller::default(),
        }
    }

    /// Sets the clock by which the store is asked for news; tests use a fixed one.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets what one client may use.
    pub fn limits(mut self, limits: ServerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Allows pages of these origins to read, besides its own. See [`Server::allow_origins`](crate::Server::allow_origins).
    pub fn allow_origins<O: Into<String>>(mut self, origins: impl IntoIterator<Item = O>) -> Self {
        self.origins.extend(origins.into_iter().map(Into::into));
        self
    }

    /// Sets how the caller of a request is found. See [`Server::caller`](crate::Server::caller).
    pub fn caller(mut self, find: impl Fn(&Parts) -> Caller + Send + Sync + 'static) -> Self {
        self.caller = FindCaller::new(find);
        self
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// [`ServerError::Origin`].
    pub fn build(self) -> Result<ApiServer, ServerError> {
        let origins = Origins::new(self.origins).map_err(|error| ServerError::Origin(Box::new(error)))?;
        Ok(ApiServer::new(Api {
            runners: BTreeMap::new(),
            sessions: self.sessions,
            artifacts: None,
            memory: None,
            clock: self.clock,
            ids: Arc::new(RandomIds),
            limits: self.limits,
            origins,
            caller: self.caller,
            default_app: None,
            prefix: String::new(),
            auto_create_session: false,
            detaches_runs: false,
            slots: RunSlots::default(),
            turns: Turns::default(),
            changes: Turns::default(),
            inspection: Inspection::ReadOnly,
            #[cfg(feature = "dev")]
            is_dev: false,
            #[cfg(feature = "dev")]
            traces: None,
            #[cfg(feature = "dev")]
            open_to_others: false,
            #[cfg(feature = "dev")]
            dev_ui: None,
            #[cfg(feature = "dev")]
            backend_url: String::new(),
            #[cfg(feature = "dev")]
            consent: crate::dev::Consent::default(),
            ending: watch::Sender::new(false),
        }))
    }

    /// Builds the inspector and listens at an address. See [`ApiServer::bind`].
    ///
    /// # Errors
    /// [`ServerError`] with the first fault of the configuration, or why the address cannot be used.
    ///
    /// # Cancel safety
    /// Dropping the future closes the socket.
    pub async fn bind(self, address: impl ToSocketAddrs + fmt::Debug) -> Result<BoundServer, ServerError> {
        self.build()?.bind(address).await
    }
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspector").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}
