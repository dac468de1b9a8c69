//! What lies outside of the processes that run a workflow, and outlives them: who has been called, how often.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pleach::{Context, NodeError};
use pleach_testkit::SeqIds;

/// Counts by the path of a run.
pub(crate) type Counts = BTreeMap<String, u32>;

#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    inner: Arc<Mutex<Inner>>,
    ids: SeqIds,
}

#[derive(Debug, Default)]
struct Inner {
    starts: Counts,
    failures: Counts,
}

impl World {
    /// A body begins.
    pub(crate) fn enter(&self, ctx: &Context) {
        *self.inner.lock().unwrap().starts.entry(ctx.node_path().to_string()).or_default() += 1;
    }

    /// Fails the first `times` times that the run comes here.
    pub(crate) fn fail(&self, ctx: &Context, times: u8) -> Result<(), NodeError> {
        let mut inner = self.inner.lock().unwrap();
        let failed = inner.failures.entry(ctx.node_path().to_string()).or_default();
        if *failed < u32::from(times) {
            *failed += 1;
            return Err(NodeError::new("Trouble", "on purpose"));
        }
        Ok(())
    }

    /// How often each body has begun.
    pub(crate) fn starts(&self) -> Counts {
        self.inner.lock().unwrap().starts.clone()
    }

    /// Ids that no two processes share.
    pub(crate) fn ids(&self) -> SeqIds {
        self.ids.clone()
    }
}
