//! [`Server`]: builds a server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use axum::Router;
use http::request::Parts;
use pleach_artifact::ArtifactService;
use pleach_core::{BoxFuture, Clock, IdGen, RandomIds};
use pleach_memory::MemoryService;
use pleach_runner::{App, GivenAnswer, MayAnswer, Runner, RunnerBuilder};
use pleach_session::SessionService;
use tokio::net::ToSocketAddrs;

use crate::api::Api;
use crate::base::Base;
use crate::caller::FindCaller;
use crate::{ApiServer, BoundServer, Caller, CallerRights, ServerError, ServerLimits};

/// The environment variable that names the default app.
const DEFAULT_APP: &str = "ADK_DEFAULT_APP_NAME";

/// Builds a server for apps. Each app gets its own Runner; all apps share the services, the clock and the limits.
///
/// # Example
/// ```no_run
/// # use pleach_runner::App;
/// # use pleach_server::Server;
/// # use pleach_session::SessionService;
/// # async fn example(shop: App, sessions: impl SessionService) -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::new().app(shop).sessions(sessions).bind("127.0.0.1:8000").await?;
/// println!("http://{}", server.local_addr());
/// server.serve().await;
/// # Ok(())
/// # }
/// ```
///
/// ADK: `get_fast_api_app`
#[must_use]
#[doc(alias = "get_fast_api_app")]
pub struct Server {
    apps: Vec<(App, Customize)>,
    sessions: Option<Arc<dyn SessionService>>,
    artifacts: Option<Arc<dyn ArtifactService>>,
    memory: Option<Arc<dyn MemoryService>>,
    base: Base,
    ids: Arc<dyn IdGen>,
    default_app: Option<String>,
    prefix: String,
    auto_create_session: bool,
    max_llm_calls: Option<u32>,
    may_answer: Option<Arc<dyn MayAnswer>>,
    detaches_runs: bool,
    timers: bool,
    /// Whether there is an inspector; if unset, only a development server has one.
    #[cfg(feature = "inspect")]
    inspector: Option<bool>,
    #[cfg(feature = "dev")]
    is_dev: bool,
    #[cfg(feature = "dev")]
    dev_ui: Option<crate::DevUi>,
    #[cfg(feature = "dev")]
    traces: Option<crate::Traces>,
}

type Customize = Box<dyn FnOnce(RunnerBuilder) -> RunnerBuilder + Send>;

impl Server {
    /// Returns a server without apps.
    pub fn new() -> Self {
        Self {
            apps: Vec::new(),
            sessions: None,
            artifacts: None,
            memory: None,
            base: Base::default(),
            ids: Arc::new(RandomIds),
            default_app: None,
            prefix: String::new(),
            auto_create_session: false,
            max_llm_calls: None,
            may_answer: None,
            detaches_runs: false,
            timers: false,
            #[cfg(feature = "inspect")]
            inspector: None,
            #[cfg(feature = "dev")]
            is_dev: false,
            #[cfg(feature = "dev")]
            dev_ui: None,
            #[cfg(feature = "dev")]
            traces: None,
        }
    }

    /// Adds an app.
    pub fn app(self, app: App) -> Self {
        self.app_with(app, |runner| runner)
    }

    /// Adds an app and changes the settings of its Runner, for example to provide values or to set a default model. The
    /// settings in the closure apply to this app only. Do not set the session, artifact and memory services there,
    /// because the routes use those of the server.
    pub fn app_with(
        mut self,
        app: App,
        customize: impl FnOnce(RunnerBuilder) -> RunnerBuilder + Send + 'static,
    ) -> Self {
        self.apps.push((app, Box::new(customize)));
        self
    }

    /// Sets the session service of all apps.
    pub fn sessions(mut self, service: impl SessionService) -> Self {
        self.sessions = Some(Arc::new(service));
        self
    }

    /// Sets the artifact service of all apps. Without one, the routes for artifacts reply with 400.
    pub fn artifacts(mut self, service: impl ArtifactService) -> Self {
        self.artifacts = Some(Arc::new(service));
        self
    }

    /// Sets the memory service of all apps. Without one, the route for memories replies with 400.
    pub fn memory(mut self, service: impl MemoryService) -> Self {
        self.memory = Some(Arc::new(service));
        self
    }

    /// Sets the clock of the server and its apps; tests use a fixed one.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.base.clock = Arc::new(clock);
        self
    }

    /// Sets the source of ids of the server and its apps; tests use counted ids.
    pub fn ids(mut self, ids: impl IdGen) -> Self {
        self.ids = Arc::new(ids);
        self
    }

    /// Sets the limits of each client.
    pub fn limits(mut self, limits: ServerLimits) -> Self {
        self.base.limits = limits;
        self
    }

    /// Allows pages of these origins to call the server, in addition to its own pages. An origin is a literal such as
    /// `https://app.example`, `*`, or a pattern after `regex:`, which must match a whole origin. The host of a literal
    /// origin is also accepted as a name of the server, for a proxy on the same machine. ADK: `--allow_origins`
    // H91, H92
    pub fn allow_origins<O: Into<String>>(mut self, origins: impl IntoIterator<Item = O>) -> Self {
        self.base.origins.extend(origins.into_iter().map(Into::into));
        self
    }

    /// Sets a function that returns the caller of a request. It gets the head of the request, including the extensions
    /// that layers in front have added. Without it, the [`Caller`] is read from the extensions.
    pub fn caller(mut self, find: impl Fn(&Parts) -> Caller + Send + Sync + 'static) -> Self {
        self.base.caller = FindCaller::new(find);
        self
    }

    /// Sets the additional rights of callers that are bound to a user. By default they may only act for that user.
    pub fn caller_rights(mut self, rights: CallerRights) -> Self {
        self.base.caller_rights = rights;
        self
    }

    /// Sets who may answer which question, for all apps. The caller of an answer is the user to whom the request's
    /// [`Caller`] is bound. Without a rule, that user may not answer questions that are assigned to others. See
    /// [`MayAnswer`].
    pub fn may_answer(mut self, rule: impl MayAnswer) -> Self {
        self.may_answer = Some(Arc::new(rule));
        self
    }

    /// Sets the app for requests that name none. Without this setting, the environment variable `ADK_DEFAULT_APP_NAME`
    /// names it.
    // H10
    pub fn default_app(mut self, name: impl Into<String>) -> Self {
        self.default_app = Some(name.into());
        self
    }

    /// Sets the path or URL under which clients reach the server, if a proxy removes that path from requests. Redirects
    /// use it.
    /// ADK: `--url_prefix`
    // H11
    pub fn url_prefix(mut self, prefix: impl AsRef<str>) -> Self {
        self.prefix = prefix.as_ref().to_owned();
        self
    }

    /// Sets whether a run creates its session if that does not exist; false by default. ADK: `--auto_create_session`
    // H62
    pub fn auto_create_session(mut self, yes: bool) -> Self {
        self.auto_create_session = yes;
        self
    }

    /// Sets how many model calls each run may make; 0 means no limit. ADK: `--max_llm_calls`
    // H63
    pub fn max_llm_calls(mut self, calls: u32) -> Self {
        self.max_llm_calls = Some(calls);
        self
    }

    /// Sets whether a run continues after its client has disconnected. By default the run is aborted. A client that
    /// reconnects reads the further events at `…/sessions/{id}/events`.
    // H55
    pub fn detach_runs(mut self, yes: bool) -> Self {
        self.detaches_runs = yes;
        self
    }

    /// Sets whether a serving server ends sleeps, and answers questions at their deadlines, for the runs of all
    /// processes. If false, it does this only for its own runs. See [`Runner::start_timers`].
    pub fn timers(mut self, yes: bool) -> Self {
        self.timers = yes;
        self
    }

    /// Sets whether the server has the routes of the development server, which show the structure of apps and the spans
    /// of runs; false by default. ADK: `DevServer`
    // H105–H117
    #[cfg(feature = "dev")]
    pub fn dev(mut self, yes: bool) -> Self {
        self.is_dev = yes;
        self
    }

    /// Shows the spans of runs in the development server, which [`dev`](Self::dev) or [`dev_ui`](Self::dev_ui) turns
    /// on. A layer of the program's subscriber records the spans: see [`Traces`](crate::Traces).
    // H110, H111
    #[cfg(feature = "dev")]
    pub fn traces(mut self, traces: crate::Traces) -> Self {
        self.traces = Some(traces);
        self
    }

    /// Hosts a browser UI at `/dev-ui/`, with the routes of the development server. ADK: `adk web`
    // H100
    #[cfg(feature = "dev")]
    pub fn dev_ui(mut self, ui: crate::DevUi) -> Self {
        self.is_dev = true;
        self.dev_ui = Some(ui);
        self
    }

    /// Sets whether the inspector is served at `/inspect/`. Without this setting, only a development server has it. It
    /// shows the sessions of all users for whom its caller may act, starts runs, answers questions and forks sessions.
    #[cfg(feature = "inspect")]
    pub fn inspector(mut self, yes: bool) -> Self {
        self.inspector = Some(yes);
        self
    }

    /// Checks the configuration and builds the Runners.
    ///
    /// # Errors
    /// [`ServerError`] for the first fault.
    pub fn build(self) -> Result<ApiServer, ServerError> {
        #[cfg(feature = "inspect")]
        let inspection = self.inspection();
        let sessions = self.sessions.ok_or(ServerError::NoSessions)?;
        let shared = Shared {
            sessions: Arc::clone(&sessions),
            artifacts: self.artifacts.clone(),
            memory: self.memory.clone(),
            clock: Arc::clone(&self.base.clock),
            ids: Arc::clone(&self.ids),
            auto_create_session: self.auto_create_session,
            max_llm_calls: self.max_llm_calls,
            may_answer: self.may_answer.clone(),
            #[cfg(feature = "dev")]
            traces: self.traces.clone(),
        };
        let mut runners = BTreeMap::new();
        for (app, customize) in self.apps {
            let runner = shared.runner(app, customize)?;
            let name = runner.app_name().to_string();
            if runners.insert(name.clone(), runner).is_some() {
                return Err(ServerError::DuplicateApp(name));
            }
        }
        let default_app = self.default_app.or_else(|| std::env::var(DEFAULT_APP).ok().filter(|name| !name.is_empty()));
        if let Some(unknown) = default_app.as_ref().filter(|name| !runners.contains_key(*name)) {
            return Err(ServerError::UnknownDefaultApp(unknown.clone()));
        }
        #[cfg(feature = "dev")]
        if self.traces.is_some() && !self.is_dev {
            return Err(ServerError::TracesWithoutDev);
        }
        #[cfg(feature = "dev")]
        if let Some(ui) = self.dev_ui.as_ref().filter(|ui| !ui.folder.is_dir()) {
            return Err(ServerError::NoUi(ui.folder.clone()));
        }
        Ok(ApiServer::new(Api {
            runners,
            artifacts: self.artifacts,
            memory: self.memory,
            ids: self.ids,
            default_app,
            prefix: prefix_path(&self.prefix),
            auto_create_session: self.auto_create_session,
            detaches_runs: self.detaches_runs,
            timers: self.timers,
            #[cfg(feature = "inspect")]
            inspection,
            #[cfg(feature = "dev")]
            is_dev: self.is_dev,
            #[cfg(feature = "dev")]
            traces: self.traces,
            #[cfg(feature = "dev")]
            dev_ui: self.dev_ui,
            #[cfg(feature = "dev")]
            backend_url: self.prefix,
            ..self.base.api(sessions)?
        }))
    }

    /// Returns the kind of inspector that the built server has. By default only a development server has one.
    #[cfg(feature = "inspect")]
    fn inspection(&self) -> crate::inspection::Inspection {
        #[cfg(feature = "dev")]
        let usual = self.is_dev;
        #[cfg(not(feature = "dev"))]
        let usual = false;
        if self.inspector.unwrap_or(usual) {
            crate::inspection::Inspection::Full
        } else {
            crate::inspection::Inspection::Off
        }
    }

    /// Builds the server and listens at an address. See [`ApiServer::bind`].
    ///
    /// # Errors
    /// [`ServerError`] for the first fault of the configuration, or why the address cannot be used.
    ///
    /// # Cancel safety
    /// Dropping the future closes the socket.
    pub async fn bind(self, address: impl ToSocketAddrs + fmt::Debug) -> Result<BoundServer, ServerError> {
        self.build()?.bind(address).await
    }

    /// Builds the server, and returns its routes for another service. See [`ApiServer::router`].
    ///
    /// # Errors
    /// [`ServerError`] for the first fault of the configuration.
    pub fn into_router(self) -> Result<Router, ServerError> {
        Ok(self.build()?.router())
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let apps: Vec<&App> = self.apps.iter().map(|(app, _)| app).collect();
        f.debug_struct("Server").field("apps", &apps).finish_non_exhaustive()
    }
}

/// The services and settings that the Runners of all apps share.
struct Shared {
    sessions: Arc<dyn SessionService>,
    artifacts: Option<Arc<dyn ArtifactService>>,
    memory: Option<Arc<dyn MemoryService>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGen>,
    auto_create_session: bool,
    max_llm_calls: Option<u32>,
    may_answer: Option<Arc<dyn MayAnswer>>,
    #[cfg(feature = "dev")]
    traces: Option<crate::Traces>,
}

impl Shared {
    fn runner(&self, app: App, customize: Customize) -> Result<Runner, ServerError> {
        let mut builder = RunnerBuilder::app(app)
            .sessions(Arc::clone(&self.sessions))
            .skip_closing_sessions(true)
            .clock(Arc::clone(&self.clock))
            .ids(Arc::clone(&self.ids))
            .auto_create_session(self.auto_create_session);
        if let Some(artifacts) = &self.artifacts {
            builder = builder.artifacts(Arc::clone(artifacts));
        }
        if let Some(memory) = &self.memory {
            builder = builder.memory(Arc::clone(memory));
        }
        if let Some(calls) = self.max_llm_calls {
            builder = builder.max_llm_calls(calls);
        }
        if let Some(rule) = &self.may_answer {
            builder = builder.may_answer(SharedRule(Arc::clone(rule)));
        }
        let builder = customize(builder);
        #[cfg(feature = "dev")]
        let builder = match &self.traces {
            Some(traces) => builder.plugin(crate::dev::TracePlugin(traces.clone())),
            None => builder,
        };
        builder.build().map_err(ServerError::App)
    }
}

/// The rule for who may answer, shared by all apps.
struct SharedRule(Arc<dyn MayAnswer>);

impl MayAnswer for SharedRule {
    fn may_answer<'a>(&'a self, given: GivenAnswer<'a>) -> BoxFuture<'a, bool> {
        self.0.may_answer(given)
    }
}

/// Returns the path of a prefix, without a slash at its end.
fn prefix_path(prefix: &str) -> String {
    let is_url = prefix.starts_with("http://") || prefix.starts_with("https://");
    let path = match prefix.split_once("://").filter(|_| is_url) {
        Some((_, rest)) => rest.find('/').map_or("", |place| &rest[place..]),
        None => prefix,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
    if path.is_empty() { String::new() } else { format!("/{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h11_a_prefix_is_a_path_or_the_path_of_a_url() {
        for (prefix, path) in [
            ("", ""),
            ("/", ""),
            ("adk", "/adk"),
            ("/adk/", "/adk"),
            ("https://host.example/a/b/", "/a/b"),
            ("https://host.example", ""),
            ("//evil.example", "/evil.example"),
        ] {
            assert_eq!(prefix_path(prefix), path, "{prefix}");
        }
    }
}
