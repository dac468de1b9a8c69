//! Rules for which output type fits which input type.

use pleach_core::Event;
use serde::de::DeserializeOwned;

use crate::Dynamic;

/// Allows an output of type `Self` as an input of type `In`. The marker `M` is inferred.
///
/// Implement it with your own marker type to allow further pairs: `impl Feeds<Slim, Mine> for Wide {}`.
#[diagnostic::on_unimplemented(
    message = "nodes do not fit: `{Self}` is given, `{In}` is taken",
    note = "change one of the two types, put a node between, check at run time with `.dynamic()`, or take `Input<Dynamic>`"
)]
pub trait Feeds<In, M> {}

/// Markers of the pairs that fit without an implementation of your own.
pub mod fit {
    /// The same type.
    #[derive(Debug)]
    pub enum Same {}
    /// Any output for a `Dynamic` input.
    #[derive(Debug)]
    pub enum Open {}
    /// A `Dynamic` output, which is checked at run time.
    #[derive(Debug)]
    pub enum Late {}
    /// An event, whose output is checked at run time.
    #[derive(Debug)]
    pub enum LateEvent {}
    /// A value for an optional input.
    #[derive(Debug)]
    pub enum Maybe {}
    /// A borrowed text for an owned one.
    #[derive(Debug)]
    pub enum Text {}
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> Feeds<T, fit::Same> for T {}
#[diagnostic::do_not_recommend]
impl<O> Feeds<Dynamic, fit::Open> for O {}
#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> Feeds<T, fit::Late> for Dynamic {}
#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> Feeds<T, fit::LateEvent> for Event {}
#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> Feeds<Option<T>, fit::Maybe> for T {}
#[diagnostic::do_not_recommend]
impl Feeds<String, fit::Text> for &str {}
