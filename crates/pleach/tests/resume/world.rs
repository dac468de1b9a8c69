//! The world outside the processes that run a workflow. It outlives them and counts the calls of bodies, tools and models.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pleach::model::LlmRequest;
use pleach::{Context, NodeError};
use pleach_contract::CountedIds;

/// Counts by the path of a run or by the key of a call.
pub(crate) type Counts = BTreeMap<String, u32>;

#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    inner: Arc<Mutex<Inner>>,
    ids: CountedIds,
}

#[derive(Debug, Default)]
struct Inner {
    starts: Counts,
    failures: Counts,
    calls: Counts,
    requests: Vec<(String, LlmRequest)>,
}

impl World {
    /// Records that a body begins.
    pub(crate) fn enter(&self, ctx: &Context) {
        self.enter_at(ctx.node_path().to_string());
    }

    /// Records that the body of the run at `path` begins.
    pub(crate) fn enter_at(&self, path: String) {
        *self.inner.lock().unwrap().starts.entry(path).or_default() += 1;
    }

    /// Fails the first `times` times that the run gets here.
    pub(crate) fn fail(&self, ctx: &Context, times: u8) -> Result<(), NodeError> {
        self.fail_at(ctx.node_path().to_string(), times)
    }

    /// Fails the first `times` times that the call gets here.
    pub(crate) fn fail_call(&self, key: &str, times: u8) -> Result<(), NodeError> {
        self.fail_at(key.to_owned(), times)
    }

    /// Fails the first `times` times that `place` is reached.
    pub(crate) fn fail_at(&self, place: String, times: u8) -> Result<(), NodeError> {
        let mut inner = self.inner.lock().unwrap();
        let failed = inner.failures.entry(place).or_default();
        if *failed < u32::from(times) {
            *failed += 1;
            return Err(NodeError::new("Trouble", "on purpose"));
        }
        Ok(())
    }

    /// Returns true if anything has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.inner.lock().unwrap().failures.values().any(|failed| *failed > 0)
    }

    /// Records a call of an agent's tool.
    pub(crate) fn call(&self, key: &str) {
        *self.inner.lock().unwrap().calls.entry(key.to_owned()).or_default() += 1;
    }

    /// Records a request to an agent's model.
    pub(crate) fn ask(&self, agent: &str, request: &LlmRequest) {
        self.inner.lock().unwrap().requests.push((agent.to_owned(), request.clone()));
    }

    /// The number of starts of each body.
    pub(crate) fn starts(&self) -> Counts {
        self.inner.lock().unwrap().starts.clone()
    }

    /// The number of calls of tools, by the key of the call.
    pub(crate) fn calls(&self) -> Counts {
        self.inner.lock().unwrap().calls.clone()
    }

    /// The requests to the models, with the names of the agents.
    pub(crate) fn requests(&self) -> Vec<(String, LlmRequest)> {
        self.inner.lock().unwrap().requests.clone()
    }

    /// Ids that no two processes share.
    pub(crate) fn ids(&self) -> CountedIds {
        self.ids.clone()
    }
}
