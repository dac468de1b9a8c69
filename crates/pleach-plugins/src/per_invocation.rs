//! [`PerInvocation`]: a value that a plugin keeps for each active invocation.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pleach_context::InvocationContext;

/// Values by invocation. A value lives as long as its invocation. It is also removed if the invocation is dropped
/// midway, which calls no final hook. A resumed invocation begins with a new value.
pub(crate) struct PerInvocation<T>(Mutex<Entries<T>>);

struct Entries<T> {
    /// The values by address. No other invocation can have the same address while the weak reference exists.
    by_address: HashMap<usize, (Weak<InvocationContext>, Arc<T>)>,
    /// The number of entries at which the entries of ended invocations are removed.
    sweep_at: usize,
}

/// The minimum of `sweep_at`. Unless many runs are active, the entries of dropped runs are removed when the next run
/// begins.
const FEW: usize = 1;

impl<T> Default for PerInvocation<T> {
    fn default() -> Self {
        Self(Mutex::new(Entries { by_address: HashMap::new(), sweep_at: FEW }))
    }
}

impl<T> PerInvocation<T> {
    /// Returns the value of an invocation, and creates it if there is none. `make` runs under a lock and must not use
    /// these values.
    pub(crate) fn get_or_make(&self, ic: &Arc<InvocationContext>, make: impl FnOnce() -> T) -> Arc<T> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let address = Arc::as_ptr(ic) as usize;
        if let Some((_, value)) = entries.by_address.get(&address) {
            return Arc::clone(value);
        }
        if entries.by_address.len() >= entries.sweep_at {
            entries.by_address.retain(|_, (invocation, _)| invocation.strong_count() > 0);
            entries.sweep_at = (entries.by_address.len() * 2).max(FEW);
        }
        let value = Arc::new(make());
        entries.by_address.insert(address, (Arc::downgrade(ic), Arc::clone(&value)));
        value
    }

    /// Removes all values.
    pub(crate) fn clear(&self) {
        let left = std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).by_address);
        drop(left);
    }

    /// Removes the value of an invocation that has ended.
    pub(crate) fn remove(&self, ic: &InvocationContext) -> Option<Arc<T>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.by_address.remove(&(std::ptr::from_ref(ic) as usize)).map(|(_, value)| value)
    }
}

impl<T> fmt::Debug for PerInvocation<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_struct("PerInvocation").field("entries", &entries.by_address.len()).finish()
    }
}
