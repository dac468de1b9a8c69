//! Which given type fits which taken type.

use pleach_core::Event;
use serde::de::DeserializeOwned;

use crate::Dynamic;

/// May what `Self` gives go into what `In` takes? The marker `M` is inferred.
///
/// An implementation of your own, with a marker type of your own, allows further pairs:
/// `impl Feeds<Slim, Mine> for Wide {}`.
#[diagnostic::on_unimplemented(
    message = "nodes do not fit: `{Self}` is given, `{In}` is taken",
    note = "change one of the two types, put a node between, check at run time with `.dynamic()`, or take `Input<Dynamic>`"
)]
pub trait Feeds<In, M> {}

/// Markers of the pairs that fit by themselves.
pub mod fit {
    /// The same type.
    #[derive(Debug)]
    pub enum Same {}
    /// Anything goes in.
    #[derive(Debug)]
    pub enum Open {}
    /// What comes is checked at run time.
    #[derive(Debug)]
    pub enum Late {}
    /// An event's output is checked at run time.
    #[derive(Debug)]
    pub enum LateEvent {}
    /// A value where an optional one is taken.
    #[derive(Debug)]
    pub enum Maybe {}
    /// A borrowed text where an owned one is taken.
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
