//! Which input a handler takes, folded over its parameters: at most one may take it.

use std::marker::PhantomData;

use crate::Dynamic;

/// What a parameter wants of the node's input.
pub trait Wants {
    /// The input type that follows for the node.
    type In;
}

/// Wants nothing: the node takes anything.
#[derive(Debug)]
pub struct Nothing;

/// Takes the input as a `T`.
#[derive(Debug)]
pub struct Takes<T>(PhantomData<fn() -> T>);

impl Wants for Nothing {
    type In = Dynamic;
}

impl<T> Wants for Takes<T> {
    type In = T;
}

/// Two parameters together. There is no implementation for two that both take the input.
#[diagnostic::on_unimplemented(
    message = "a node handler takes at most one `Input`",
    note = "take one struct with both parts, or read the other from the state with `FromState`"
)]
pub trait And<B> {
    /// What both want together.
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
