//! App-provided values that nodes ask for by type: pools, clients, settings.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// A type that a node asks for with [`Shared`](crate::Shared).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededType {
    /// The type.
    pub type_id: TypeId,
    /// The name of the type, for the error if nothing provides it.
    pub name: &'static str,
    /// The type `Arc<T>`, under which an app may have provided the value.
    shared: TypeId,
}

impl NeededType {
    /// Returns the need for a `T`.
    pub(crate) fn of<T: 'static>() -> Self {
        Self { type_id: TypeId::of::<T>(), name: std::any::type_name::<T>(), shared: TypeId::of::<Arc<T>>() }
    }
}

/// The values that an app provides to its nodes, one per type.
#[derive(Clone, Default)]
pub struct Provided {
    values: FxHashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl Provided {
    /// Adds a value, which replaces an earlier one of the same type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.values.insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// Returns the value of type `T`, or otherwise the value inside a provided `Arc<T>`.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let own = self.values.get(&TypeId::of::<T>()).cloned().and_then(|value| value.downcast().ok());
        own.or_else(|| self.values.get(&TypeId::of::<Arc<T>>())?.downcast_ref::<Arc<T>>().cloned())
    }

    /// Returns true if a value of the needed type was provided.
    #[must_use]
    pub fn has(&self, need: &NeededType) -> bool {
        self.values.contains_key(&need.type_id) || self.values.contains_key(&need.shared)
    }
}

impl fmt::Debug for Provided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Provided({} values)", self.values.len())
    }
}
