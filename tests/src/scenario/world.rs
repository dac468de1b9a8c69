//! [`World`]: the data that all runs of a scenario share outside the runtime, such as counters, the log and the library
//! of nodes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach::Node;
use serde_json::{Map, Value};

use super::described::Refusal;

/// A function that builds a node from its description or from its key in the library. The key names a node without a name.
///
/// The world holds the function, because the bodies of nodes build nodes.
pub(crate) type Builder = fn(&Value, Option<&str>, &Arc<World>) -> Result<Arc<dyn Node>, Refusal>;

/// The data that all runs of a scenario share. It is never replayed or rolled back.
pub(crate) struct World {
    library: Map<String, Value>,
    builder: Builder,
    shared: Mutex<Shared>,
}

#[derive(Default)]
struct Shared {
    built: BTreeMap<String, Arc<dyn Node>>,
    counters: BTreeMap<String, i64>,
    log: Vec<Value>,
    requests: Vec<Value>,
    fault: Option<String>,
}

impl World {
    /// A world with this library of node descriptions.
    pub(crate) fn new(library: Map<String, Value>, builder: Builder) -> Self {
        Self { library, builder, shared: Mutex::default() }
    }

    /// Builds a node.
    pub(crate) fn build(self: &Arc<Self>, node: &Value, key: Option<&str>) -> Result<Arc<dyn Node>, Refusal> {
        (self.builder)(node, key, self)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The description of a library node.
    pub(crate) fn described(&self, key: &str) -> Option<&Value> {
        self.library.get(key)
    }

    /// A library node that was already built.
    pub(crate) fn built(&self, key: &str) -> Option<Arc<dyn Node>> {
        self.shared().built.get(key).cloned()
    }

    /// Keeps a library node, which all its users share.
    pub(crate) fn keep(&self, key: &str, node: Arc<dyn Node>) {
        self.shared().built.insert(key.to_owned(), node);
    }

    /// Adds 1 to a counter.
    pub(crate) fn count(&self, name: String) {
        *self.shared().counters.entry(name).or_default() += 1;
    }

    /// The value of a counter, or 0 if it was never counted.
    pub(crate) fn counter(&self, name: &str) -> i64 {
        self.shared().counters.get(name).copied().unwrap_or_default()
    }

    /// All counters.
    pub(crate) fn counters(&self) -> BTreeMap<String, i64> {
        self.shared().counters.clone()
    }

    /// Appends to the log of the turn.
    pub(crate) fn log(&self, value: Value) {
        self.shared().log.push(value);
    }

    /// Records a request to a model.
    pub(crate) fn request(&self, asked: Value) {
        self.shared().requests.push(asked);
    }

    /// Takes the requests to the models in the turn.
    pub(crate) fn take_requests(&self) -> Vec<Value> {
        std::mem::take(&mut self.shared().requests)
    }

    /// Takes the log of the turn.
    pub(crate) fn take_log(&self) -> Vec<Value> {
        std::mem::take(&mut self.shared().log)
    }

    /// Records that the scenario itself is wrong or needs an unsupported feature. The scenario then has no trace.
    pub(crate) fn set_fault(&self, what: &str) {
        self.shared().fault.get_or_insert_with(|| what.to_owned());
    }

    /// The fault of the scenario, if one was found so far.
    pub(crate) fn fault(&self) -> Option<String> {
        self.shared().fault.clone()
    }
}
