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
    /// Its name, for the error when nothing provides it.
    pub name: &'static str,
    /// An `Arc` of the type.
    shared: TypeId,
}

impl NeededType {
    /// The need for a `T`.
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
    /// Adds a value; it replaces an earlier one of the same type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.values.insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// The value of type `T`; else the one inside an `Arc<T>` that was provided.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let own = self.values.get(&TypeId::of::<T>()).cloned().and_then(|value| value.downcast().ok());
        own.or_else(|| self.values.get(&TypeId::of::<Arc<T>>())?.downcast_ref::<Arc<T>>().cloned())
    }

    /// Whether a value of the needed type is there.
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
