//! [`Inspector`]: a read-only inspector of a session service, without Runners.

use std::fmt;
use std::sync::Arc;

use http::request::Parts;
use pleach_core::Clock;
use pleach_session::SessionService;
use tokio::net::ToSocketAddrs;

use crate::api::Api;
use crate::base::Base;
use crate::caller::FindCaller;
use crate::inspection::Inspection;
use crate::{ApiServer, BoundServer, Caller, ServerError, ServerLimits};

/// Serves a read-only inspector of a session service at `/inspect/`. It can show any database of sessions, including
/// those that other programs write.
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
    base: Base,
}

impl Inspector {
    /// Returns an inspector of these sessions.
    pub fn new(sessions: impl SessionService) -> Self {
        Self { sessions: Arc::new(sessions), base: Base::default() }
    }

    /// Sets the clock for polling the store; tests use a fixed one.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.base.clock = Arc::new(clock);
        self
    }

    /// Sets the limits of each client.
    pub fn limits(mut self, limits: ServerLimits) -> Self {
        self.base.limits = limits;
        self
    }

    /// Allows pages of these origins to read the inspector's data, in addition to its own pages. See
    /// [`Server::allow_origins`](crate::Server::allow_origins).
    pub fn allow_origins<O: Into<String>>(mut self, origins: impl IntoIterator<Item = O>) -> Self {
        self.base.origins.extend(origins.into_iter().map(Into::into));
        self
    }

    /// Sets how the caller of a request is found. See [`Server::caller`](crate::Server::caller).
    pub fn caller(mut self, find: impl Fn(&Parts) -> Caller + Send + Sync + 'static) -> Self {
        self.base.caller = FindCaller::new(find);
        self
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// [`ServerError::Origin`].
    pub fn build(self) -> Result<ApiServer, ServerError> {
        Ok(ApiServer::new(Api { inspection: Inspection::ReadOnly, ..self.base.api(self.sessions)? }))
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
