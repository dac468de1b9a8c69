//! [`RunnerBuilder`]: builds a Runner.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pleach_artifact::ArtifactService;
use pleach_context::engine::{PluginManager, Services};
use pleach_context::telemetry::InvocationTrace;
use pleach_context::{AgentMode, CredentialService, Need, Node, Plugin, Provided, SharedToolset, SystemClock};
use pleach_core::{AppName, Clock, IdGen, RandomIds};
use pleach_memory::MemoryService;
use pleach_model::Model;
use pleach_session::SessionService;
use pleach_workflow::{BuildError, Fault};

use crate::answers::may_answer::AnswerRule;
use crate::app::agent_names::warn_of_repeated_names;
use crate::app::call_limit;
use crate::app::inner::{Closing, RunnerInner};
use crate::deadlines::schedule::{TimerOwner, Timers};
use crate::opening::open_task::may_open_tasks;
use crate::run::registry::RunRegistry;
use crate::run::span::OnSpan;
use crate::runner::Runner;
use crate::sessions::ended_sessions::EndedSessions;
use crate::sessions::left_sessions::LeftSessions;
use crate::sessions::program::program_name;
use crate::signals::turns::Turns;
use crate::{App, EventsCompactionConfig, MayAnswer};

/// Builds a [`Runner`].
pub struct RunnerBuilder {
    name: AppName,
    root: Option<Arc<dyn Node>>,
    sessions: Option<Arc<dyn SessionService>>,
    artifacts: Option<Arc<dyn ArtifactService>>,
    memory: Option<Arc<dyn MemoryService>>,
    credentials: Option<Arc<dyn CredentialService>>,
    plugins: Vec<Arc<dyn Plugin>>,
    provided: Provided,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGen>,
    auto_create_session: bool,
    resumable: bool,
    compaction: Option<EventsCompactionConfig>,
    model: Option<Arc<dyn Model>>,
    max_llm_calls: Option<u32>,
    max_queued_runs: usize,
    heartbeat: Option<Duration>,
    timers: TimerOwner,
    max_recoveries: u32,
    recover_every: Option<Duration>,
    on_span: OnSpan,
    closing: Closing,
    closes_confirmations: bool,
    answer_rule: AnswerRule,
}

impl RunnerBuilder {
    /// Returns a builder for an app with this name.
    pub fn new(app_name: impl Into<AppName>) -> Self {
        Self {
            name: app_name.into(),
            root: None,
            sessions: None,
            artifacts: None,
            memory: None,
            credentials: None,
            plugins: Vec::new(),
            provided: Provided::default(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            auto_create_session: true,
            resumable: false,
            compaction: None,
            model: None,
            max_llm_calls: None,
            max_queued_runs: 100,
            heartbeat: None,
            timers: TimerOwner::Runner,
            max_recoveries: 5,
            recover_every: None,
            on_span: OnSpan::default(),
            closing: Closing::default(),
            closes_confirmations: false,
            answer_rule: AnswerRule::default(),
        }
    }

    /// Returns a builder with an app's name, root node, plugins and settings.
    #[must_use]
    pub fn app(app: App) -> Self {
        Self {
            root: Some(app.root),
            plugins: app.plugins,
            resumable: app.resumable,
            compaction: app.compaction,
            ..Self::new(app.name)
        }
    }

    /// Sets the root node, such as a workflow, a function node or an agent.
    #[must_use]
    pub fn root(mut self, node: impl Node) -> Self {
        self.root = Some(Arc::new(node));
        self
    }

    /// Sets the session service.
    #[must_use]
    pub fn sessions(mut self, service: impl SessionService) -> Self {
        self.sessions = Some(Arc::new(service));
        self
    }

    /// Sets the artifact service.
    #[must_use]
    pub fn artifacts(mut self, service: impl ArtifactService) -> Self {
        self.artifacts = Some(Arc::new(service));
        self
    }

    /// Sets the memory service.
    #[must_use]
    pub fn memory(mut self, service: impl MemoryService) -> Self {
        self.memory = Some(Arc::new(service));
        self
    }

    /// Sets the credential service.
    #[must_use]
    pub fn credentials(mut self, service: impl CredentialService) -> Self {
        self.credentials = Some(Arc::new(service));
        self
    }

    /// Adds a plugin; hooks are called in the order of registration.
    #[must_use]
    pub fn plugin(mut self, plugin: impl Plugin) -> Self {
        self.plugins.push(Arc::new(plugin));
        self
    }

    /// Provides a value for handlers that take `Shared<T>`. The value is a `T` or an `Arc<T>`; if both are provided,
    /// the `T` wins. A later value replaces an earlier one of the same type.
    #[must_use]
    pub fn provide<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.provided.insert(value);
        self
    }

    /// Sets the clock; tests use a fixed one.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the source of ids and randomness; tests use counted ids.
    #[must_use]
    pub fn ids(mut self, ids: impl IdGen) -> Self {
        self.ids = Arc::new(ids);
        self
    }

    /// Sets whether a run creates its session if that does not exist; true by default.
    #[must_use]
    pub fn auto_create_session(mut self, yes: bool) -> Self {
        self.auto_create_session = yes;
        self
    }

    /// Sets whether checkpoints and completed runs are recorded. If they are, a resume never executes a completed run again,
    /// even if the run had no output.
    // R1030, R1011
    #[must_use]
    pub fn resumable(mut self, yes: bool) -> Self {
        self.resumable = yes;
        self
    }

    /// Sets when long histories are summarised. ADK: `App.events_compaction_config`.
    // R1150
    #[must_use]
    pub fn events_compaction_config(mut self, config: EventsCompactionConfig) -> Self {
        self.compaction = Some(config);
        self
    }

    /// Sets the default model. Agents use it if neither they nor their ancestors have a model.
    // L5
    #[must_use]
    pub fn model(mut self, model: impl Model) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Sets the limit of model calls for each run whose [`RunConfig`](pleach_context::RunConfig) sets none; 0 means no
    /// limit. The default is the value of the environment variable `ADK_MAX_LLM_CALLS` when the Runner is built, or 500
    /// if it is not set.
    // L160
    #[must_use]
    pub fn max_llm_calls(mut self, calls: u32) -> Self {
        self.max_llm_calls = Some(calls);
        self
    }

    /// Sets how many runs may wait for a busy session; 100 by default. See [`RunRequest::queue`](crate::RunRequest::queue).
    #[must_use]
    pub fn max_queued_runs(mut self, runs: usize) -> Self {
        self.max_queued_runs = runs;
        self
    }

    /// Sets the period of heartbeats, for apps that several processes run on one database. If a run has stored nothing
    /// for this long, by the Runner's clock, it claims its session. Heartbeats are off by default.
    ///
    /// All processes must set the same period. Each process then sees which sessions the others work on: if an
    /// invocation is unfinished and its session changed within the last three periods, the invocation is
    /// [`RunsElsewhere`](crate::RunProgress::RunsElsewhere), and [`Runner::unfinished`] does not list it. The deadlines
    /// of its questions wait until the other process has finished, unless only the asking body is at work there. A run
    /// that has lost its session ends at its next heartbeat, with
    /// [`SessionError::Stale`](pleach_session::SessionError::Stale), rather than at its next event.
    ///
    /// A heartbeat is one [claim](SessionService::claim), so it changes the session's update time and nothing else. A run makes
    /// heartbeats only while it is polled ([detach](crate::Run::detach) runs whose readers may be slow), and none while it awaits a
    /// plugin's hook or a summary of the history.
    ///
    /// A heartbeat is a hint, not a lock. A process that stalls for longer than three periods, or whose clock is far off, is treated as
    /// dead. If it continues, its appends fail as stale.
    #[must_use]
    pub fn heartbeat(mut self, period: Duration) -> Self {
        self.heartbeat = Some(period);
        self
    }

    /// Turns off heartbeats that other code has set on this builder. See [`heartbeat`](Self::heartbeat).
    #[must_use]
    pub fn no_heartbeat(mut self) -> Self {
        self.heartbeat = None;
        self
    }

    /// Resumes runs that were cut off, in a task that begins with [`Runner::start_timers`]: at once, and then after each pause. It
    /// calls [`Runner::resume_unfinished`] for the sessions that changed within the last week, and needs
    /// [heartbeats](Self::heartbeat), because otherwise nothing shows which runs another process is working on. With heartbeats of
    /// two seconds and a pause of one second, another process continues the runs of a killed one after at most seven seconds.
    ///
    /// ADK: none.
    #[must_use]
    pub fn recover(mut self, every: Duration) -> Self {
        self.recover_every = Some(every);
        self
    }

    /// Sets how many recoveries of a run without progress are tried; by default 5. After that the run is
    /// [`RunProgress::Dead`](crate::RunProgress::Dead) and is left alone. Progress is an event of a node, a message or an answer.
    ///
    /// ADK: none.
    #[must_use]
    pub fn max_recoveries(mut self, recoveries: u32) -> Self {
        self.max_recoveries = recoveries;
        self
    }

    /// Leaves deadlines and sleeps to a scheduler. The Runner waits for none of them, also after [`Runner::start_timers`]; the scheduler calls
    /// [`Runner::due`] when a deadline has passed, and runs the request that it returns.
    ///
    /// ADK: none.
    #[must_use]
    pub fn external_timers(mut self) -> Self {
        self.timers = TimerOwner::Scheduler;
        self
    }

    /// Sets a hook that receives the span of an invocation each time it starts or resumes, before the span is entered.
    /// The hook is not called for disabled spans. An exporter uses it to put all parts of an invocation into one trace:
    /// see `docs/tracing.md`. A later call replaces the hook.
    #[must_use]
    pub fn on_invocation_span(
        mut self,
        hook: impl Fn(&tracing::Span, &InvocationTrace) + Send + Sync + 'static,
    ) -> Self {
        self.on_span = OnSpan(Some(Arc::new(hook)));
        self
    }

    /// Sets who may answer which question. By default a named caller may not answer questions that are assigned to others: see
    /// [`MayAnswer`].
    #[must_use]
    pub fn may_answer(mut self, rule: impl MayAnswer) -> Self {
        self.answer_rule = AnswerRule::new(rule);
        self
    }

    /// Sets the time limit for closing each plugin in [`Runner::close`], by the Runner's clock: 5 seconds by default. A plugin
    /// that takes longer is reported as an error; the others are still closed. ADK: `plugin_close_timeout`.
    #[must_use]
    pub fn plugin_close_timeout(mut self, limit: Duration) -> Self {
        self.closing.limit = limit;
        self
    }

    /// Sets whether [`Runner::close`] leaves the plugins open, for plugins that another Runner shares; false by default.
    /// ADK: `PluginManager.set_skip_closing_plugins`.
    #[must_use]
    pub fn skip_closing_plugins(mut self, yes: bool) -> Self {
        self.closing.skip = yes;
        self
    }

    /// Sets whether [`Runner::close`] leaves the session service open, for a service that other Runners share; false by default.
    #[must_use]
    pub fn skip_closing_sessions(mut self, yes: bool) -> Self {
        self.closing.skip_sessions = yes;
        self
    }

    /// Returns the fault of a recovery that cannot work.
    fn recovery_fault(&self) -> Option<Fault> {
        let every = self.recover_every?;
        let reason = if every.is_zero() {
            "a recovery needs a pause that is not zero"
        } else if self.heartbeat.is_none() {
            "a recovery needs heartbeats, which show the runs of other processes: call `heartbeat`"
        } else if self.timers == TimerOwner::Scheduler {
            "a Runner with external timers leaves the recovery to its scheduler, too: call one of `recover` and `external_timers`"
        } else {
            return None;
        };
        Some(Fault::value("recovery", reason.to_owned()))
    }

    /// Returns a fault for each required part that is missing: name, root node, session service.
    fn missing(&self) -> Vec<Fault> {
        let no_name = || Fault::config("no_app_name", "an app needs a name: pass one to `Runner::builder`");
        let no = |rule, what: &str, method: &str| {
            Fault::config(rule, format!("app '{}' has no {what}: call `.{method}(…)`", self.name))
        };
        [
            self.name.is_empty().then(no_name),
            self.root.is_none().then(|| no("no_root", "root node", "root")),
            self.sessions.is_none().then(|| no("no_sessions", "session service", "sessions")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Sets whether a message that answers no question closes the open confirmations of its session. False by default,
    /// as in google-adk: a call that is approved days later still runs.
    ///
    /// If true, an invocation that waits only for confirmations is aborted before the message is stored. Its calls are
    /// answered, so the model sees that they did not run. A later approval is refused
    /// ([`RunError::InvocationAborted`](crate::RunError::InvocationAborted)). If an invocation waits for questions of
    /// other kinds as well, all its questions stay open, including the confirmations.
    #[must_use]
    pub fn close_confirmations(mut self, yes: bool) -> Self {
        self.closes_confirmations = yes;
        self
    }

    /// Checks the configuration and returns the Runner.
    ///
    /// # Errors
    /// All faults at once: no root node, no session service, a fault in the root node's declaration, two plugins of one name,
    /// an incomplete compaction config, an agent without a model, or a missing value that a handler needs.
    pub fn build(self) -> Result<Runner, BuildError> {
        let mut faults = self.missing();
        faults.extend(self.recovery_fault());
        let plugins = PluginManager::new(self.plugins).unwrap_or_else(|error| {
            faults.push(Fault::value("duplicate_plugin", error.to_string()));
            PluginManager::default()
        });
        faults.extend(self.compaction.iter().flat_map(EventsCompactionConfig::faults));
        if self.heartbeat.is_some_and(|period| period.is_zero()) {
            faults.push(Fault::value("zero_heartbeat", "a heartbeat needs a period that is not zero".to_owned()));
        }
        faults.extend(self.root.iter().flat_map(|root| root_faults(&**root)));
        let mut needs = Vec::new();
        self.root.iter().for_each(|root| root.needs(&mut needs));
        faults.extend(needs.iter().filter_map(|need| unmet(need, &self.provided, self.model.as_ref())));
        let toolsets = toolsets(needs);
        let (Some(root), Some(sessions), true) = (self.root, self.sessions, faults.is_empty()) else {
            return Err(BuildError { name: self.name.to_string(), faults });
        };
        let services = Services {
            sent_credentials: pleach_context::engine::KeptCredentials::default(),
            sessions,
            artifacts: self.artifacts,
            memory: self.memory,
            credentials: self.credentials,
            plugins,
            provided: self.provided,
            model: self.model,
            clock: self.clock,
            ids: self.ids,
        };
        Ok(Runner::from_parts(RunnerInner {
            app_name: self.name,
            may_open_tasks: may_open_tasks(&root.outline()),
            program: program_name(&*root, self.resumable),
            root,
            services: Arc::new(services),
            auto_create_session: self.auto_create_session,
            resumable: self.resumable,
            compaction: self.compaction.map(Arc::new),
            max_llm_calls: self.max_llm_calls.unwrap_or_else(call_limit::from_environment),
            max_queued_runs: self.max_queued_runs,
            heartbeat: self.heartbeat,
            max_recoveries: self.max_recoveries,
            recover_every: self.recover_every,
            active: RunRegistry::default(),
            ended: EndedSessions::default(),
            unresumable: EndedSessions::default(),
            left: LeftSessions::default(),
            signals: Turns::default(),
            signal_names: Turns::default(),
            timers: Timers::new(self.timers),
            on_span: self.on_span,
            closing: self.closing,
            closes_confirmations: self.closes_confirmations,
            answer_rule: self.answer_rule,
            toolsets,
        }))
    }
}

impl Runner {
    /// Returns a builder for an app.
    #[must_use]
    pub fn app(app: crate::App) -> RunnerBuilder {
        RunnerBuilder::app(app)
    }
}

impl fmt::Debug for RunnerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunnerBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Returns the faults of the root node's declaration.
fn root_faults(root: &dyn Node) -> Vec<Fault> {
    let spec = root.spec();
    let mut faults: Vec<Fault> = spec.faults.iter().map(Fault::from).collect();
    warn_of_repeated_names(root);
    if root.agent().is_some_and(|agent| agent.mode == Some(AgentMode::SingleTurn)) {
        let message = format!(
            "agent '{}' has the mode single_turn and cannot be a root: it must be chat or task, or a node of a workflow",
            spec.name
        );
        faults.push(Fault::value("single_turn_root", message));
    }
    faults
}

/// Returns a fault if the app does not provide what a node needs.
fn unmet(need: &Need, provided: &Provided, model: Option<&Arc<dyn Model>>) -> Option<Fault> {
    match need {
        Need::Value(value) if !provided.has(value) => Some(Fault::config(
            "not_provided",
            format!("a node needs a `Shared<{}>`, but none was provided: call `.provide(…)`", value.name),
        )),
        Need::Model(agent) if model.is_none() => Some(Fault::config(
            "no_model",
            format!(
                "agent '{agent}' has no model: set one with `.model(…)`, or for the app with `Runner::builder(…).model(…)`"
            ),
        )),
        Need::Demand(demand) => demand.unmet(model).map(|fault| Fault::value("model_demand", fault)),
        _ => None,
    }
}

/// Returns the toolsets that nodes need, each once.
fn toolsets(needs: Vec<Need>) -> Vec<SharedToolset> {
    let mut toolsets: Vec<SharedToolset> = Vec::new();
    for need in needs {
        if let Need::Toolset(set) = need
            && !toolsets.iter().any(|known| known.is_same(&set))
        {
            toolsets.push(set);
        }
    }
    toolsets
}
