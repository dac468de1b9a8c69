//! Works out the input type of a handler from its parameters, of which at most one may take the input.

use std::marker::PhantomData;

use crate::Dynamic;

/// What a parameter does with the node's input: it takes the input or ignores it.
pub trait Wants {
    /// The resulting input type of the node.
    type In;
}

/// The parameter ignores the input: the node accepts any.
#[derive(Debug)]
pub struct Nothing;

/// The parameter takes the input as a `T`.
#[derive(Debug)]
pub struct Takes<T>(PhantomData<fn() -> T>);

impl Wants for Nothing {
    type In = Dynamic;
}

impl<T> Wants for Takes<T> {
    type In = T;
}

/// Combines two parameters. There is no implementation for two parameters that both take the input.
#[diagnostic::on_unimplemented(
    message = "a node handler takes at most one `Input`",
    note = "take one struct with both parts, or read the other from the state with `FromState`"
)]
pub trait And<B> {
    /// The combined `Wants` of both parameters.
    type Both: Wants;
}

impl And<Nothing> for Nothing {
    type Both = Nothing;
}

impl<T> And<Nothing> for Takes<T> {
    type Both = Takes<T>;
}

impl<T> And<Takes<T>> for Nothing {
    type Both = Takes<T>;
}
