//! [`ApiServer`]: a built server.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use futures_util::future::join_all;
use pleach_runner::{DrainOptions, Drained, RunError, Runner};
use tower::Layer as _;

use crate::api::Api;
use crate::entry::{Entry, enter};
use crate::guard::Bind;
use crate::routes;

/// A built server, which has routes and Runners, and can be drained and closed. All clones are the same server.
/// ADK: `ApiServer`
#[derive(Clone)]
pub struct ApiServer {
    api: Arc<Api>,
}

impl ApiServer {
    pub(crate) fn new(api: Api) -> Self {
        Self { api: Arc::new(api) }
    }

    /// Returns the routes, for a service with its own layers and its own listener. Nest them with
    /// `Router::nest_service`. The service decides to which hosts it answers. Requests of foreign origins are refused
    /// by the routes themselves.
    pub fn router(&self) -> Router {
        self.routes(Bind::Unknown)
    }

    /// Returns the routes for a service that listens at this address. If it is a loopback address, the routes refuse
    /// requests to other hosts.
    // H90
    pub fn router_at(&self, address: SocketAddr) -> Router {
        self.routes(if address.ip().to_canonical().is_loopback() { Bind::Loopback } else { Bind::Network })
    }

    fn routes(&self, bind: Bind) -> Router {
        let entry = Entry { api: Arc::clone(&self.api), bind };
        #[cfg(feature = "inspect")]
        let routes = crate::inspect::with_inspector(self.api.inspection);
        #[cfg(not(feature = "inspect"))]
        let routes = routes::router();
        #[cfg(feature = "dev")]
        let routes = if self.api.is_dev { routes.merge(crate::dev::router()) } else { routes };
        // This comes after the last merge, because it applies only to routes that already exist.
        let routes = routes.method_not_allowed_fallback(routes::wrong_method).with_state(Arc::clone(&self.api));
        // `enter` is not a layer of the router: a layer would run after routing, but `enter` may change the path.
        Router::new().fallback_service(from_fn_with_state(entry, enter).layer(routes))
    }

    /// Returns the Runner of an app.
    #[must_use]
    pub fn runner(&self, app: &str) -> Option<&Runner> {
        self.api.runners.get(app)
    }

    /// Drains all Runners at once: new runs are refused, followers end, and active runs may end until the deadline.
    /// Draining cannot be undone. Returns, for each app, the runs that were active.
    ///
    /// # Cancel safety
    /// If the future is dropped, new runs stay refused and active ones continue.
    pub async fn drain(&self, options: impl Into<DrainOptions>) -> Vec<(String, Drained)> {
        let options = options.into();
        self.api.ending.send_replace(true);
        let drained =
            self.api.runners.iter().map(|(app, runner)| async move { (app.clone(), runner.drain(options).await) });
        join_all(drained).await
    }

    /// Closes the toolsets and plugins of all apps, and then the session service.
    ///
    /// # Errors
    /// The errors of the parts that could not be closed. All other parts are closed.
    ///
    /// # Cancel safety
    /// If the future is dropped, the remaining parts stay open; closing again is safe.
    pub async fn close(&self) -> Result<(), RunError> {
        let mut errors = Vec::new();
        for runner in self.api.runners.values() {
            errors.extend(runner.close().await.err());
        }
        errors.extend(self.api.sessions.close().await.err().map(RunError::Session));
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(RunError::Close(errors)),
        }
    }

    pub(crate) fn api(&self) -> &Arc<Api> {
        &self.api
    }
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").field("apps", &self.api.runners.keys()).finish_non_exhaustive()
    }
}
