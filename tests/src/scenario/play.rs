//! Plays the turns of a scenario and returns its trace and its stored events.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use pleach::{
    App, ArtifactKey, ArtifactScope, ArtifactService as _, CreateSession, Event, GetSessionConfig,
    InMemoryArtifactService, Map, Node, Part, RunError, RunRequest, Runner, SaveArtifact, SessionKey, to_camel,
};
use pleach_contract::{CountedIds, TestClock};
use serde_json::{Value, json};

use super::backend::Backend;
use super::described::Refusal;
use super::hooks::ScriptedPlugin;
use super::nodes;
use super::turn::Turn;
use super::world::World;
use crate::corpus::Lane;

/// The time after which a turn is treated as hanging, unless the scenario sets another limit.
const HANG_LIMIT_SECONDS: u64 = 15;

/// The result of a scenario.
#[derive(Debug)]
pub struct Played {
    /// The trace, not normalised.
    pub trace: Value,
    /// The events of each session at the end, as they are stored.
    pub stored: Stored,
}

/// Sessions by id, with their events.
pub type Stored = Vec<(String, Vec<Arc<Event>>)>;

/// Plays a scenario that [`read`](super::read) has read.
///
/// Ids are counted and time is the runtime's. If that time is paused and sessions are in memory, every play stores the
/// same bytes.
///
/// # Errors
/// A scenario that is wrong, hangs, needs a feature that pleach does not have, or should be refused and is not.
pub async fn play(scenario: &Value, lane: &Lane) -> anyhow::Result<Played> {
    let backend = Backend::new(lane).await?;
    let name = scenario.get("name").and_then(Value::as_str).context("a scenario has a `name`")?;
    let expects_refusal = scenario.get("expect_construction_error").and_then(Value::as_bool) == Some(true);
    let stage = match Stage::build(scenario, &backend).await {
        Ok(stage) => stage,
        Err(Refusal::Construction { class, rule, .. }) if expects_refusal => {
            let trace = json!({ "scenario": name, "construction_error": { "type": class, "rule": rule } });
            return Ok(Played { trace, stored: Vec::new() });
        }
        Err(Refusal::Construction { class, message, .. }) => bail!("{class}: {message}"),
        Err(Refusal::Scenario(error)) => return Err(error),
    };
    ensure!(!expects_refusal, "a construction error is expected, but the graph was accepted");
    stage.play(name, scenario, &backend).await
}

/// A scenario that is set up.
struct Stage {
    world: Arc<World>,
    app_name: String,
    user: String,
    root: Arc<dyn Node>,
    plugins: Vec<ScriptedPlugin>,
    resumable: bool,
    artifacts: Arc<InMemoryArtifactService>,
    clock: TestClock,
    ids: CountedIds,
    runner: Option<Runner>,
    /// All events that were handed out.
    seen: Vec<Arc<Event>>,
    /// The ids of the calls that `answer_open` has answered.
    answered: BTreeSet<String>,
}

impl Stage {
    async fn build(scenario: &Value, backend: &Backend) -> Result<Self, Refusal> {
        let library = scenario.get("library").and_then(Value::as_object).cloned().unwrap_or_default();
        let world = Arc::new(World::new(library, nodes::build));
        let app = scenario.get("app").unwrap_or(&Value::Null);
        let text =
            |of: &Value, key: &str, default: &str| of.get(key).and_then(Value::as_str).unwrap_or(default).to_owned();
        let plugins = app.get("plugins").and_then(Value::as_array).into_iter().flatten();
        let clock = TestClock::running();
        let mut stage = Self {
            app_name: text(app, "name", "conf_app"),
            user: text(scenario, "user_id", "user_1"),
            root: world.build(scenario.get("root").context("a scenario has a `root`")?, None)?,
            plugins: plugins.map(|plugin| ScriptedPlugin::read(plugin, &world)).collect::<Result<_, _>>()?,
            resumable: app.get("resumable").and_then(Value::as_bool).unwrap_or(false),
            artifacts: Arc::new(InMemoryArtifactService::with_clock(Arc::new(clock.clone()))),
            clock,
            ids: CountedIds::new(),
            runner: None,
            seen: Vec::new(),
            answered: BTreeSet::new(),
            world,
        };
        stage.runner = Some(stage.open(backend).await?);
        Ok(stage)
    }

    /// Makes a Runner over a freshly opened session service.
    async fn open(&self, backend: &Backend) -> Result<Runner, Refusal> {
        let mut app = App::new(self.app_name.as_str(), Arc::clone(&self.root))?.resumable(self.resumable);
        for plugin in &self.plugins {
            app = app.plugin(plugin.clone());
        }
        let runner = Runner::app(app).sessions(backend.open().await?).artifacts(Arc::clone(&self.artifacts));
        Ok(runner.clock(self.clock.clone()).ids(self.ids.clone()).auto_create_session(false).build()?)
    }

    async fn runner(&mut self, backend: &Backend) -> anyhow::Result<Runner> {
        if let Some(runner) = &self.runner {
            return Ok(runner.clone());
        }
        let runner =
            self.open(backend).await.map_err(|refusal| anyhow::anyhow!("cannot rebuild the root: {refusal:?}"))?;
        self.runner = Some(runner.clone());
        Ok(runner)
    }

    fn key(&self, session: &str) -> SessionKey {
        SessionKey::new(self.app_name.as_str(), self.user.as_str(), session)
    }

    async fn play(mut self, name: &str, scenario: &Value, backend: &Backend) -> anyhow::Result<Played> {
        let first = scenario.pointer("/session/id").and_then(Value::as_str).unwrap_or("s1");
        let mut sessions = vec![first];
        let state = scenario.pointer("/session/state").and_then(Value::as_object).cloned().unwrap_or_default();
        self.create_session(first, state, backend).await?;
        self.save_artifacts(first, scenario).await?;
        let limit = scenario.get("hang_limit_s").and_then(Value::as_u64).unwrap_or(HANG_LIMIT_SECONDS);
        let mut turns = Vec::new();
        for turn in scenario.get("turns").and_then(Value::as_array).into_iter().flatten().map(Turn) {
            let session = turn.session().unwrap_or(first);
            if !sessions.contains(&session) {
                self.create_session(session, Map::new(), backend).await?;
                sessions.push(session);
            }
            let played = tokio::time::timeout(Duration::from_secs(limit), self.turn(turn, session, backend)).await;
            turns.push(played.with_context(|| format!("turn {} hangs", turns.len() + 1))??);
            if backend.reopens() {
                self.runner = None;
            }
        }
        let (sessions, stored) = self.read_sessions(&sessions, backend).await?;
        let mut trace = json!({ "scenario": name, "turns": turns, "sessions": sessions });
        let counters = self.world.counters();
        if !counters.is_empty() {
            trace["counters"] = serde_json::to_value(counters)?;
        }
        match self.world.fault() {
            Some(fault) => bail!(fault),
            None => Ok(Played { trace, stored }),
        }
    }

    async fn create_session(&mut self, id: &str, state: Map, backend: &Backend) -> anyhow::Result<()> {
        let request = CreateSession::new(self.app_name.as_str(), self.user.as_str()).with_session_id(id);
        let runner = self.runner(backend).await?;
        runner.sessions().create_session(request.with_state(state)).await.context("cannot create a session")?;
        Ok(())
    }

    async fn save_artifacts(&self, session: &str, scenario: &Value) -> anyhow::Result<()> {
        for (file, text) in scenario.get("artifacts").and_then(Value::as_object).into_iter().flatten() {
            let key: ArtifactKey = ArtifactScope::session(&self.key(session)).artifact(file.as_str());
            let text = text.as_str().with_context(|| format!("artifact `{file}` is not a text"))?;
            self.artifacts.save_artifact(SaveArtifact::new(key, Part::text(text))).await?;
        }
        Ok(())
    }

    /// Plays one turn and returns its record.
    async fn turn(&mut self, turn: Turn<'_>, session: &str, backend: &Backend) -> anyhow::Result<Value> {
        let request = turn.request(&self.user, session, &self.seen, &mut self.answered)?;
        let runner = self.runner(backend).await?;
        let mut yielded = Vec::new();
        let ended = self.drive(&runner, request, turn.close_after(), &mut yielded).await;
        let mut record = json!({ "yielded": yielded });
        if let Err(error) = ended {
            record["error"] = json!({ "type": error.code(), "message": error.message() });
        }
        let requests = self.world.take_requests();
        if !requests.is_empty() {
            record["llm_requests"] = requests.into();
        }
        let log = self.world.take_log();
        if !log.is_empty() {
            record["log"] = log.into();
        }
        Ok(record)
    }

    /// Reads the run's events until it ends or until the caller closes it.
    async fn drive(
        &mut self,
        runner: &Runner,
        request: RunRequest,
        close_after: Option<usize>,
        yielded: &mut Vec<Value>,
    ) -> Result<(), RunError> {
        let mut run = runner.start(request);
        while let Some(event) = run.next().await {
            let event = event?.event;
            yielded.push(event_value(&event));
            self.seen.push(event);
            if close_after == Some(yielded.len()) {
                return run.close().await;
            }
        }
        Ok(())
    }

    async fn read_sessions(&mut self, ids: &[&str], backend: &Backend) -> anyhow::Result<(Value, Stored)> {
        let runner = self.runner(backend).await?;
        let (mut read, mut all) = (Map::new(), Vec::new());
        for id in ids {
            let stored = runner.sessions().get_session(&self.key(id), GetSessionConfig::all()).await?;
            let stored = stored.with_context(|| format!("session `{id}` does not exist any more"))?;
            let events: Vec<Value> = stored.events.iter().map(|event| event_value(event)).collect();
            read.insert((*id).to_owned(), json!({ "events": events, "state": stored.state }));
            all.push(((*id).to_owned(), stored.events));
        }
        Ok((read.into(), all))
    }
}

/// An event in the form of the HTTP API.
fn event_value(event: &Event) -> Value {
    to_camel(event).expect("an event has string keys only")
}
