//! The services of a process over a set.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use pleach::prelude::*;
use pleach::{
    Clock, FileArtifactService, GetSessionConfig, IdGen, ListSessions, MemoryService, Node, PayloadSessions, RandomIds,
    RunnerBuilder, SessionService, SqliteMemoryService, connect, to_camel,
};
use pleach_contract::{CountedIds, TestClock};
use serde_json::{Value, json};

use super::stories::NAMES;

/// The number of bytes from which a value is stored outside its row.
const THRESHOLD: usize = 1_000;

/// Returns a clock whose times all differ, in seconds since the epoch.
fn clock_from(seconds: u64) -> TestClock {
    TestClock::ticking_from(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// A process over a database and its folders.
pub(crate) struct World {
    pub(crate) sessions: Arc<dyn SessionService>,
    pub(crate) files: Arc<FileArtifactService>,
    pub(crate) memory: Arc<SqliteMemoryService>,
    pub(crate) clock: TestClock,
    ids: Arc<dyn IdGen>,
}

impl World {
    /// The process that writes a set. Its times and ids are counted.
    pub(crate) async fn writing(url: &str, folder: &Path) -> Self {
        Self::open(url, folder, clock_from(1_800_000_000), Arc::new(CountedIds::new())).await
    }

    /// A later process.
    pub(crate) async fn later(url: &str, folder: &Path) -> Self {
        Self::open(url, folder, clock_from(1_800_010_000), Arc::new(RandomIds)).await
    }

    async fn open(url: &str, folder: &Path, clock: TestClock, ids: Arc<dyn IdGen>) -> Self {
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let payloads = FileArtifactService::open(folder.join("payloads"), Arc::clone(&shared)).await.unwrap();
        let files = FileArtifactService::open(folder.join("files"), shared).await.unwrap();
        let sessions = PayloadSessions::new(connect(url).await.unwrap(), Arc::new(payloads)).with_threshold(THRESHOLD);
        let memory = SqliteMemoryService::open(folder.join("memory.sqlite")).await.unwrap();
        Self { sessions: Arc::new(sessions), files: Arc::new(files), memory: Arc::new(memory), clock, ids }
    }

    pub(crate) fn builder(&self, story: &str) -> RunnerBuilder {
        let builder = Runner::builder(story).sessions(Arc::clone(&self.sessions)).artifacts(Arc::clone(&self.files));
        builder.memory(Arc::clone(&self.memory)).clock(self.clock.clone()).ids(Arc::clone(&self.ids))
    }

    pub(crate) fn runner(&self, story: &str, root: impl Node) -> Runner {
        self.builder(story).root(root).build().unwrap()
    }

    /// The contents of all sessions, including values outside their rows and open questions.
    pub(crate) async fn listing(&self) -> Value {
        let mut listing = serde_json::Map::new();
        for story in NAMES {
            let mut sessions = Vec::new();
            let mut listed = self.sessions.list_sessions(ListSessions::new(*story)).await.unwrap().sessions;
            listed.sort_by(|a, b| a.key().cmp(b.key()));
            for session in listed {
                let key = session.key();
                let whole = self.sessions.get_session(key, GetSessionConfig::all()).await.unwrap().unwrap();
                let asks = Runner::builder(*story).root(idle()).sessions(Arc::clone(&self.sessions)).build().unwrap();
                let open = asks.questions(key.clone()).await.unwrap();
                let open: Vec<Value> = open.iter().map(|open| json!([open.id, open.message, open.deadline])).collect();
                let user = self.sessions.user_state(&key.app_name, &key.user_id).await.unwrap();
                sessions.push(json!({"session": to_camel(&whole).unwrap(), "open": open, "user_state": user}));
            }
            listing.insert((*story).to_owned(), sessions.into());
        }
        Value::Object(listing)
    }

    pub(crate) async fn close(&self) {
        self.sessions.close().await.unwrap();
        self.memory.close().await;
    }

    pub(crate) async fn recalls(&self, story: &str, query: &str) -> usize {
        let request = pleach::SearchMemory::new(story, "ana", query);
        self.memory.search_memory(request).await.unwrap().memories.len()
    }
}

/// A root that is never run.
fn idle() -> impl Node {
    FunctionNode::new("idle", async || ())
}
