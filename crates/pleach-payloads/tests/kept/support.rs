//! A service over stores that tests can inspect.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pleach_artifact::{
    ArtifactError, ArtifactKey, ArtifactResult, ArtifactScope, ArtifactService, ArtifactVersion,
    InMemoryArtifactService, SaveArtifact,
};
use pleach_contract::TestClock;
use pleach_core::{BoxFuture, Event, Part, Session, SessionKey};
use pleach_payloads::PayloadSessions;
use pleach_session::{CreateSession, GetSessionConfig, SessionService};
use pleach_session_inmemory::InMemorySessionService;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Artifacts in memory. They count operations, and fail on demand.
#[derive(Debug)]
pub(crate) struct Watched {
    inner: InMemoryArtifactService,
    pub(crate) is_down: AtomicBool,
    /// Whether deletions fail.
    pub(crate) keeps_all: AtomicBool,
    pub(crate) saves: AtomicUsize,
    pub(crate) loads: AtomicUsize,
    open: AtomicUsize,
    pub(crate) most_open: AtomicUsize,
    /// Whether the next load waits until the test releases it.
    pub(crate) holds_next: AtomicBool,
    pub(crate) held: Notify,
    pub(crate) released: Notify,
}

impl Watched {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: InMemoryArtifactService::with_clock(Arc::new(TestClock::new())),
            is_down: AtomicBool::default(),
            keeps_all: AtomicBool::default(),
            saves: AtomicUsize::default(),
            loads: AtomicUsize::default(),
            open: AtomicUsize::default(),
            most_open: AtomicUsize::default(),
            holds_next: AtomicBool::default(),
            held: Notify::new(),
            released: Notify::new(),
        })
    }

    pub(crate) fn set_down(&self, yes: bool) {
        self.is_down.store(yes, Ordering::Relaxed);
    }

    fn up(&self) -> ArtifactResult<()> {
        if self.is_down.load(Ordering::Relaxed) {
            return Err(ArtifactError::Storage { backend: "watched", source: "it is down".into() });
        }
        Ok(())
    }

    /// Returns the names of all payloads of the session `app/ana/s1`.
    pub(crate) async fn names(&self) -> Vec<String> {
        self.names_of("s1").await
    }

    pub(crate) async fn names_of(&self, session: &str) -> Vec<String> {
        self.inner.list_artifact_keys(&scope_of(session)).await.unwrap()
    }
}

/// Returns the scope with the payloads of the session `app/ana/SESSION`.
pub(crate) fn scope_of(session: &str) -> ArtifactScope {
    ArtifactScope::session(&SessionKey::new("app.payloads", "ana", session))
}

impl ArtifactService for Watched {
    fn save_artifact(&self, req: SaveArtifact) -> BoxFuture<'_, ArtifactResult<i64>> {
        Box::pin(async move {
            self.up()?;
            self.saves.fetch_add(1, Ordering::Relaxed);
            let version = self.inner.save_artifact(req).await;
            tokio::task::yield_now().await;
            version
        })
    }

    fn load_artifact<'a>(
        &'a self,
        key: &'a ArtifactKey,
        version: Option<i64>,
    ) -> BoxFuture<'a, ArtifactResult<Option<Part>>> {
        Box::pin(async move {
            self.up()?;
            self.loads.fetch_add(1, Ordering::Relaxed);
            if self.holds_next.swap(false, Ordering::Relaxed) {
                self.held.notify_one();
                self.released.notified().await;
            }
            let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
            self.most_open.fetch_max(open, Ordering::Relaxed);
            tokio::task::yield_now().await;
            let part = self.inner.load_artifact(key, version).await;
            self.open.fetch_sub(1, Ordering::Relaxed);
            part
        })
    }

    fn list_artifact_keys<'a>(&'a self, scope: &'a ArtifactScope) -> BoxFuture<'a, ArtifactResult<Vec<String>>> {
        Box::pin(async move {
            self.up()?;
            self.inner.list_artifact_keys(scope).await
        })
    }

    fn delete_artifact<'a>(&'a self, key: &'a ArtifactKey) -> BoxFuture<'a, ArtifactResult<()>> {
        Box::pin(async move {
            self.up()?;
            if self.keeps_all.load(Ordering::Relaxed) {
                return Err(ArtifactError::Storage { backend: "watched", source: "it cannot delete".into() });
            }
            self.inner.delete_artifact(key).await
        })
    }

    fn list_versions<'a>(&'a self, key: &'a ArtifactKey) -> BoxFuture<'a, ArtifactResult<Vec<i64>>> {
        self.inner.list_versions(key)
    }

    fn list_artifact_versions<'a>(
        &'a self,
        key: &'a ArtifactKey,
    ) -> BoxFuture<'a, ArtifactResult<Vec<ArtifactVersion>>> {
        self.inner.list_artifact_versions(key)
    }

    fn get_artifact_version<'a>(
        &'a self,
        key: &'a ArtifactKey,
        version: Option<i64>,
    ) -> BoxFuture<'a, ArtifactResult<Option<ArtifactVersion>>> {
        self.inner.get_artifact_version(key, version)
    }
}

/// A service, and the stores below it.
pub(crate) struct Kept {
    pub(crate) inner: Arc<dyn SessionService>,
    pub(crate) artifacts: Arc<Watched>,
    pub(crate) sessions: PayloadSessions,
}

impl Kept {
    /// Creates a service in memory that stores values of more than `threshold` bytes outside events.
    pub(crate) fn above(threshold: usize) -> Self {
        Self::over(Arc::new(InMemorySessionService::new()), threshold)
    }

    pub(crate) fn over(inner: Arc<dyn SessionService>, threshold: usize) -> Self {
        let artifacts = Watched::new();
        let sessions = PayloadSessions::new(inner.clone(), artifacts.clone()).with_threshold(threshold);
        Self { inner, artifacts, sessions }
    }

    /// Creates the session `app/ana/s1`.
    pub(crate) async fn session(&self) -> Session {
        self.session_with_id("s1").await
    }

    pub(crate) async fn session_with_id(&self, id: &str) -> Session {
        self.sessions.create_session(CreateSession::new("app", "ana").with_session_id(id)).await.unwrap()
    }

    pub(crate) async fn loaded(&self) -> Session {
        self.sessions.get_session(&key(), GetSessionConfig::all()).await.unwrap().unwrap()
    }

    /// Returns the events as the store has them.
    pub(crate) async fn rows(&self) -> Vec<Value> {
        let session = self.inner.get_session(&key(), GetSessionConfig::all()).await.unwrap().unwrap();
        session.events.iter().map(|event| serde_json::to_value(event).unwrap()).collect()
    }
}

pub(crate) fn key() -> SessionKey {
    SessionKey::new("app", "ana", "s1")
}

/// Returns a complete event with this output.
pub(crate) fn event(id: &str, output: impl Into<Value>) -> Event {
    complete(id, Event::from_author("node").with_output(output.into()))
}

pub(crate) fn complete(id: &str, mut event: Event) -> Event {
    event.set_id(id);
    event.set_invocation_id("i1");
    event.set_timestamp(1_760_000_000.0);
    event
}

/// Returns a string with this many bytes.
pub(crate) fn long(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Returns the metadata's list of references.
pub(crate) fn references(row: &Value) -> Vec<(String, String)> {
    let taken = row["custom_metadata"]["pleach_payloads"]["taken"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    taken.iter().map(|entry| (text(&entry["place"]), text(&entry["artifact"]))).collect()
}

/// Returns a reference to an artifact as an object.
pub(crate) fn object(name: &str, bytes: usize) -> Value {
    json!({"pleach_payload": name, "bytes": bytes})
}
