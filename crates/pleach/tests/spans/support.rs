//! What the tests share.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{BoxFuture, Clock, IdGen, InMemorySessionService, Node, Run, RunnerBuilder, Uuid};
use pleach_testkit::SeqIds;

/// What the Runners of several processes share: what is stored, and that no id is made twice.
#[derive(Clone, Debug)]
pub(crate) struct World {
    sessions: Arc<InMemorySessionService>,
    ids: Arc<SeqIds>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { sessions: Arc::new(InMemorySessionService::new()), ids: Arc::new(SeqIds::new()) }
    }

    /// A new process over the same store; sleeps end at once.
    pub(crate) fn builder(&self, root: impl Node) -> RunnerBuilder {
        let builder = Runner::builder("t").root(root).sessions(Arc::clone(&self.sessions));
        builder.clock(StillClock).ids(self.clone())
    }

    pub(crate) fn runner(&self, root: impl Node) -> Runner {
        self.builder(root).build().unwrap()
    }
}

impl IdGen for World {
    fn uuid(&self) -> Uuid {
        self.ids.uuid()
    }

    fn uniform(&self) -> f64 {
        self.ids.uniform()
    }
}

pub(crate) fn runner(root: impl Node) -> Runner {
    World::new().runner(root)
}

/// Reads a run to its end; its spans show how it ended.
pub(crate) async fn finish(mut run: Run) {
    while let Some(event) = run.next().await {
        if event.is_err() {
            break;
        }
    }
}

/// A fixed time; every sleep ends after one poll of the executor.
#[derive(Debug)]
struct StillClock;

impl Clock for StillClock {
    fn now(&self) -> f64 {
        1_800_000_000.0
    }

    fn sleep(&self, _: std::time::Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::task::yield_now())
    }
}
