//! A world that several processes share: sessions, clock and ids.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{InMemorySessionService, Node, RunnerBuilder, SessionService};
use pleach_contract::{CountedIds, TestClock};
use pleach_testkit::{FaultPlan, FaultySessions, HeldTime};
use serde_json::{Value, json};

use crate::backends::Place;
use crate::support::{key, stored};

/// Opens the session service of a place. The runtime's time does not pass during this, or while a database works.
async fn held(place: &Place) -> Arc<dyn SessionService> {
    let _held = HeldTime::new();
    let sessions = place.open().await;
    Arc::new(FaultySessions::new(sessions, FaultPlan::new().holds_time()))
}

/// Sessions, and a clock and ids that several Runners share.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) sessions: Arc<dyn SessionService>,
    pub(crate) clock: TestClock,
    ids: CountedIds,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::over(Arc::new(InMemorySessionService::new()))
    }

    /// A world with sessions in a place.
    pub(crate) async fn at(place: &Place) -> Self {
        Self::over(held(place).await)
    }

    fn over(sessions: Arc<dyn SessionService>) -> Self {
        Self { sessions, clock: TestClock::running(), ids: CountedIds::new() }
    }

    /// The same world for a process that has opened the place itself.
    pub(crate) async fn elsewhere(&self, place: &Place) -> Self {
        Self { sessions: held(place).await, ..self.clone() }
    }

    /// The Runner of a new process.
    pub(crate) fn process(&self, root: impl Node) -> Runner {
        self.builder().root(root).build().unwrap()
    }

    pub(crate) fn builder(&self) -> RunnerBuilder {
        let builder = Runner::builder("t").sessions(Arc::clone(&self.sessions));
        builder.clock(self.clock.clone()).ids(self.ids.clone())
    }

    pub(crate) async fn stored(&self) -> Vec<String> {
        stored(&self.sessions).await
    }

    /// The number of events of the session.
    pub(crate) async fn stored_events(&self) -> usize {
        let session = self.sessions.get_session(&key(), Default::default()).await.unwrap();
        session.map_or(0, |session| session.events.len())
    }

    /// The answers in the session.
    pub(crate) async fn answers(&self) -> Vec<Value> {
        let session = self.sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
        let responses = session.events.iter().flat_map(|event| event.function_responses());
        responses.map(|response| json!(response.response)).collect()
    }
}
