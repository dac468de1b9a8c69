//! A world that several processes share.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{InMemorySessionService, Node, RunnerBuilder};
use pleach_testkit::{RuntimeClock, SeqIds};
use serde_json::{Value, json};

use crate::support::{key, stored};

/// Sessions, and a clock and ids that several Runners share.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) sessions: Arc<InMemorySessionService>,
    pub(crate) clock: RuntimeClock,
    ids: SeqIds,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { sessions: Arc::default(), clock: RuntimeClock::start(), ids: SeqIds::new() }
    }

    /// A new process.
    pub(crate) fn process(&self, root: impl Node) -> Runner {
        self.builder().root(root).build().unwrap()
    }

    pub(crate) fn builder(&self) -> RunnerBuilder {
        let builder = Runner::builder("t").sessions(Arc::clone(&self.sessions));
        builder.clock(self.clock).ids(self.ids.clone())
    }

    pub(crate) async fn stored(&self) -> Vec<String> {
        stored(&self.sessions).await
    }

    /// How many events the session has.
    pub(crate) async fn stored_events(&self) -> usize {
        let session = self.sessions.get_session(&key(), Default::default()).await.unwrap();
        session.map_or(0, |session| session.events.len())
    }

    /// The answers that the session holds.
    pub(crate) async fn answers(&self) -> Vec<Value> {
        let session = self.sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
        let responses = session.events.iter().flat_map(|event| event.function_responses());
        responses.map(|response| json!(response.response)).collect()
    }
}
