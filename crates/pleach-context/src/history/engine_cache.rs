//! [`EngineCache`]: values that an engine computes before recorded runs start.

use std::any::Any;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::RunKey;

type Values = FxHashMap<RunKey, Box<dyn Any + Send>>;

/// Values that an engine computes while it checks a workflow, one for each run, until the run starts.
///
/// Their types are the engine's, which this crate does not know: a value is returned only as the type it was stored as.
#[derive(Default)]
pub(super) struct EngineCache(Mutex<Values>);

impl EngineCache {
    /// Stores the value of a run in place of an earlier one.
    pub(super) fn put<T: Any + Send>(&self, run: RunKey, value: T) {
        self.values().insert(run, Box::new(value));
    }

    /// Takes the value of a run out; `None` when there is none of this type.
    pub(super) fn take<T: Any + Send>(&self, run: RunKey) -> Option<T> {
        self.values().remove(&run)?.downcast().ok().map(|value| *value)
    }

    /// Removes all values.
    pub(super) fn clear(&mut self) {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for EngineCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EngineCache").field(&self.values().len()).finish()
    }
}
