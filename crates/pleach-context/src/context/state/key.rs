//! [`Key`]: a state key with its type.

use std::fmt;

use pleach_core::{Session, StateOp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{misfit, number, typed, unreadable};
use crate::{Context, NodeError};

/// A state key with its type: `const LOOKUPS: Key<u32> = Key::new("user:lookups");`.
///
/// # Example
/// ```
/// # use pleach_context::{Context, Key, NodeError};
/// const VISITS: Key<u32> = Key::new("user:visits");
///
/// async fn visit(ctx: Context) -> Result<u32, NodeError> {
///     VISITS.add(&ctx, 1)?;
///     Ok(VISITS.get(&ctx)?.unwrap_or_default())
/// }
/// ```
pub struct Key<T> {
    name: &'static str,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl<T> Key<T> {
    /// Creates a key with this name.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, kind: std::marker::PhantomData }
    }

    /// The name of the key.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<T: DeserializeOwned> Key<T> {
    /// Returns the value, or `None` if the key is absent or null.
    ///
    /// # Errors
    /// A `ValidationError` if the value is not a `T`.
    pub fn get(&self, ctx: &Context) -> Result<Option<T>, NodeError> {
        ctx.state().try_get(self.name)
    }

    /// Returns the value in a loaded session, outside a run; `None` if the key is absent or null.
    ///
    /// # Errors
    /// A `ValidationError` if the value is not a `T`, a `CorruptStorageError` if the stored value cannot be read.
    pub fn of(&self, session: &Session) -> Result<Option<T>, NodeError> {
        if let Some(reason) = session.unreadable.get(self.name) {
            return Err(unreadable(session.key(), self.name, reason));
        }
        typed(self.name, session.state.get(self.name))
    }
}

impl<T: DeserializeOwned + Serialize> Key<T> {
    /// Sets the value.
    ///
    /// # Errors
    /// As [`State::set`](crate::State::set).
    pub fn set(&self, ctx: &Context, value: &T) -> Result<(), NodeError> {
        ctx.state().set(self.name, value)
    }

    /// Changes the value. An absent value starts as the default.
    ///
    /// The new value replaces the stored one. For keys of the session this is safe: no other run writes them in the
    /// meantime. For `app:` and `user:` keys it is not safe: concurrent sessions each start from the value that they
    /// have read, and the last one to be stored wins. Use [`add`](Self::add) and the other operations for those keys.
    ///
    /// # Errors
    /// As [`Key::get`] and [`Key::set`].
    pub fn update<R>(&self, ctx: &Context, change: impl FnOnce(&mut T) -> R) -> Result<R, NodeError>
    where
        T: Default,
    {
        let mut value = self.get(ctx)?.unwrap_or_default();
        let result = change(&mut value);
        self.set(ctx, &value)?;
        Ok(result)
    }

    /// Sets the value unless a value other than null is stored. See
    /// [`State::set_if_absent`](crate::State::set_if_absent).
    ///
    /// # Errors
    /// As [`State::set`](crate::State::set).
    pub fn set_if_absent(&self, ctx: &Context, value: &T) -> Result<(), NodeError> {
        ctx.state().set_if_absent(self.name, value)
    }
}

impl<T: StateNumber> Key<T> {
    /// Adds `amount` to the stored value. Changes that other sessions make in the meantime are kept. See
    /// [`State::add`](crate::State::add).
    ///
    /// # Errors
    /// As [`State::add`](crate::State::add); a `ValidationError` if the sum with the value that this invocation has
    /// read is not a `T`.
    pub fn add(&self, ctx: &Context, amount: T) -> Result<(), NodeError> {
        let op = StateOp::Add(number(self.name, amount)?);
        let sum = op.apply(ctx.state().value(self.name).as_ref()).map_err(|error| misfit(self.name, &error))?;
        typed::<T>(self.name, Some(&sum))?;
        ctx.state().apply(self.name, op)
    }

    /// Raises the stored number to at least `value`. See [`State::max`](crate::State::max).
    ///
    /// # Errors
    /// As [`State::add`](crate::State::add).
    pub fn max(&self, ctx: &Context, value: T) -> Result<(), NodeError> {
        ctx.state().max(self.name, value)
    }

    /// Lowers the stored number to at most `value`. See [`State::min`](crate::State::min).
    ///
    /// # Errors
    /// As [`State::add`](crate::State::add).
    pub fn min(&self, ctx: &Context, value: T) -> Result<(), NodeError> {
        ctx.state().min(self.name, value)
    }
}

impl<T: Serialize> Key<Vec<T>> {
    /// Appends an item to the stored list. See [`State::push`](crate::State::push).
    ///
    /// # Errors
    /// As [`State::push`](crate::State::push).
    pub fn push(&self, ctx: &Context, item: &T) -> Result<(), NodeError> {
        ctx.state().push(self.name, item)
    }

    /// Appends the items that the stored list does not contain yet. See [`State::union`](crate::State::union).
    ///
    /// # Errors
    /// As [`State::push`](crate::State::push).
    pub fn union(&self, ctx: &Context, items: impl IntoIterator<Item = T>) -> Result<(), NodeError> {
        ctx.state().union(self.name, items)
    }
}

/// A number type whose state keys support addition and comparison.
pub trait StateNumber: DeserializeOwned + Serialize + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl sealed::Sealed for $number {}
        impl StateNumber for $number {}
    )*};
}

numbers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64);

impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.name).finish()
    }
}
