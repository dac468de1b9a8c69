//! The types that a node takes and gives, for edges that the compiler checks.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Dynamic, NodeInput};
use crate::{Node, NodeError};

/// A node whose input and output types are known to the compiler.
pub trait TypedNode: Node + Sized {
    /// What it takes; [`Dynamic`] takes anything.
    type In;
    /// What it gives; [`Dynamic`] is only known at run time.
    type Out;
}

/// Reads a node's output as the type it gives; the marker `M` is inferred.
pub trait Decode<M> {
    /// What the caller gets: the type itself, or [`Value`] for [`Dynamic`].
    type Value;

    /// Reads an output.
    ///
    /// # Errors
    /// A `ValidationError` when the output does not fit.
    fn decode(output: NodeInput) -> Result<Self::Value, NodeError>;
}

/// Marker of [`Decode`] for types.
#[derive(Debug)]
pub enum Typed {}
/// Marker of [`Decode`] for [`Dynamic`].
#[derive(Debug)]
pub enum Untyped {}

impl<T: DeserializeOwned> Decode<Typed> for T {
    type Value = T;
    fn decode(output: NodeInput) -> Result<T, NodeError> {
        output.parse()
    }
}

impl Decode<Untyped> for Dynamic {
    type Value = Value;
    fn decode(output: NodeInput) -> Result<Value, NodeError> {
        Ok(output.into_value())
    }
}
