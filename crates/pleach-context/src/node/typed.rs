//! The input and output types of nodes, for edges that the compiler checks.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Dynamic, NodeInput};
use crate::{Node, NodeError};

/// A node whose input and output types are known to the compiler.
pub trait TypedNode: Node + Sized {
    /// The input type; [`Dynamic`] accepts any input.
    type In;
    /// The output type; [`Dynamic`] means that it is known only at run time.
    type Out;
}

/// Reads a node's output as the node's output type. The marker `M` is inferred.
pub trait Decode<M> {
    /// The type that the caller gets: the output type itself, or [`Value`] for [`Dynamic`].
    type Value;

    /// Reads an output.
    ///
    /// # Errors
    /// A `ValidationError` if the output does not fit.
    fn decode(output: NodeInput) -> Result<Self::Value, NodeError>;
}

/// The marker of [`Decode`] for all types other than [`Dynamic`].
#[derive(Debug)]
pub enum Typed {}
/// The marker of [`Decode`] for [`Dynamic`].
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
