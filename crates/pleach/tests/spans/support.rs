//! Helpers for the tests of spans.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{InMemorySessionService, Node, Run, RunnerBuilder};
use pleach_contract::{CountedIds, TestClock};

/// The sessions and ids that the Runners of several processes share.
#[derive(Clone, Debug)]
pub(crate) struct World {
    sessions: Arc<InMemorySessionService>,
    ids: CountedIds,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { sessions: Arc::new(InMemorySessionService::new()), ids: CountedIds::new() }
    }

    /// A Runner's builder in a new process over the same store. Sleeps end at once.
    pub(crate) fn builder(&self, root: impl Node) -> RunnerBuilder {
        let builder = Runner::builder("t").root(root).sessions(Arc::clone(&self.sessions));
        builder.clock(TestClock::skipping()).ids(self.ids.clone())
    }

    pub(crate) fn runner(&self, root: impl Node) -> Runner {
        self.builder(root).build().unwrap()
    }
}

pub(crate) fn runner(root: impl Node) -> Runner {
    World::new().runner(root)
}

/// Reads a run to its end. The spans show how it ended.
pub(crate) async fn finish(mut run: Run) {
    while let Some(event) = run.next().await {
        if event.is_err() {
            break;
        }
    }
}
