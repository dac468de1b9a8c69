//! What the tests share.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{InMemorySessionService, Node, Run, RunnerBuilder};
use pleach_testkit::{FixedClock, SeqIds};

/// What the Runners of several processes share: what is stored, and that no id is made twice.
#[derive(Clone, Debug)]
pub(crate) struct World {
    sessions: Arc<InMemorySessionService>,
    ids: SeqIds,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { sessions: Arc::new(InMemorySessionService::new()), ids: SeqIds::new() }
    }

    /// A new process over the same store; sleeps end at once.
    pub(crate) fn builder(&self, root: impl Node) -> RunnerBuilder {
        let builder = Runner::builder("t").root(root).sessions(Arc::clone(&self.sessions));
        builder.clock(FixedClock::default()).ids(self.ids.clone())
    }

    pub(crate) fn runner(&self, root: impl Node) -> Runner {
        self.builder(root).build().unwrap()
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
