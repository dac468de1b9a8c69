//! [`IntoYield`]: the types that a handler can return.

use std::any::Any;
use std::marker::PhantomData;

use futures_util::{Stream, StreamExt as _};
use pleach_context::{AnswerType, Dynamic, Flow, NodeError, NodeInput, Yield, json_schema_of};
use pleach_core::{AnyRoute, BoxError, Content, Event, IntoRoute, RequestInput, Routes};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Something that a node handler can return. The marker `M` is inferred.
///
/// Implemented for:
/// - every `Serialize` type: an output; null means no output
/// - [`Event`]
/// - [`Content`]: a message and no output
/// - [`Output`]: value, route and state on one event
/// - [`RequestInput`]: a question; the answer becomes the output
/// - [`Dynamic`] and [`Yield`]
/// - `Result` of any of them, and streams of any of them
#[diagnostic::on_unimplemented(
    message = "a node handler cannot return `{Self}`",
    label = "not a handler result",
    note = "return a type that derives `serde::Serialize`, an `Event`, an `Output<T>`, a `RequestInput<T>` (with `T: JsonSchema`), a `Dynamic`, a `Result` of one of them whose error is `Into<Box<dyn Error + Send + Sync>>`, or a `Stream` of one of them"
)]
pub trait IntoYield<M>: 'static {
    /// The output type of the node.
    type Out;

    /// Turns the result into the end of a run.
    ///
    /// # Errors
    /// The error of a `Result`, or a `ValidationError` for a value that cannot be written as JSON.
    fn into_flow(self) -> Result<Flow, NodeError>;

    /// Returns the type of the answer if the result is a question.
    #[must_use]
    fn answer_type() -> Option<AnswerType> {
        None
    }

    /// Returns the routes that the result is chosen among, if its type names them.
    #[must_use]
    fn routes() -> Option<&'static [&'static str]> {
        None
    }
}

/// Markers that keep the implementations of [`IntoYield`] apart.
pub mod marker {
    /// A serialisable value, an event or a message.
    #[derive(Debug)]
    pub enum AnySerializable {}
    /// A value with route and state.
    #[derive(Debug)]
    pub enum Routed {}
    /// A question.
    #[derive(Debug)]
    pub enum Asks {}
    /// A value whose type is only known at run time.
    #[derive(Debug)]
    pub enum Untyped {}
    /// A [`Yield`](pleach_context::Yield) or an input, passed through.
    #[derive(Debug)]
    pub enum Raw {}
    /// A stream.
    #[derive(Debug)]
    pub struct Streaming<M>(std::marker::PhantomData<M>);
}

/// Marker of results that may be errors. Its name is a hint: the compiler prints it. A `Result` with a `Serialize`
/// error, such as `Result<T, String>`, could be an output or a failure, so the compiler cannot choose.
#[derive(Debug)]
pub struct ResultWhoseErrorIsNotSerializable<M>(std::marker::PhantomData<M>);

impl<T: Serialize + 'static> IntoYield<marker::AnySerializable> for T {
    type Out = T;

    fn into_flow(self) -> Result<Flow, NodeError> {
        // `Event` and `Content` are also `Serialize`. With separate implementations the marker could not be inferred,
        // so they are distinguished here.
        let mut value = Some(self);
        let any: &mut dyn Any = &mut value;
        if let Some(event) = any.downcast_mut::<Option<Event>>().and_then(Option::take) {
            return Ok(Flow::Done(Some(Yield::from(event))));
        }
        if let Some(content) = any.downcast_mut::<Option<Content>>().and_then(Option::take) {
            return Ok(Flow::Done(Some(Yield::from(Event::new().with_content(content)))));
        }
        if let Some(value) = any.downcast_mut::<Option<Value>>().and_then(Option::take) {
            return Ok(Flow::output(value));
        }
        let value = pleach_core::to_json(value).map_err(no_json)?;
        Ok(Flow::output(value))
    }
}

impl<T: IntoYield<M>, E: Into<BoxError> + 'static, M: 'static> IntoYield<ResultWhoseErrorIsNotSerializable<M>>
    for Result<T, E>
{
    type Out = T::Out;

    fn into_flow(self) -> Result<Flow, NodeError> {
        self.map_err(NodeError::from_handler)?.into_flow()
    }

    fn answer_type() -> Option<AnswerType> {
        T::answer_type()
    }

    fn routes() -> Option<&'static [&'static str]> {
        T::routes()
    }
}

impl<S: Stream + Send + 'static, M: 'static> IntoYield<marker::Streaming<M>> for S
where
    S::Item: IntoYield<M>,
{
    type Out = <S::Item as IntoYield<M>>::Out;

    fn into_flow(self) -> Result<Flow, NodeError> {
        let items = self.filter_map(|item| {
            let item = match item.into_flow() {
                Ok(Flow::Done(item)) => item.map(Ok),
                Ok(Flow::Stream(_)) => Some(Err(NodeError::value(
                    "a stream of a node cannot yield streams: yield the items of the inner stream",
                ))),
                Err(error) => Some(Err(error)),
            };
            std::future::ready(item)
        });
        Ok(Flow::Stream(items.boxed()))
    }

    fn answer_type() -> Option<AnswerType> {
        S::Item::answer_type()
    }

    fn routes() -> Option<&'static [&'static str]> {
        S::Item::routes()
    }
}

impl<T: JsonSchema + DeserializeOwned + 'static> IntoYield<marker::Asks> for RequestInput<T> {
    type Out = T;

    fn into_flow(mut self) -> Result<Flow, NodeError> {
        if self.response_schema.is_none() {
            self.response_schema = json_schema_of::<T>();
        }
        Ok(Flow::Done(Some(Yield::from(self))))
    }

    fn answer_type() -> Option<AnswerType> {
        Some(AnswerType::of::<T>().with_schema(json_schema_of::<T>))
    }
}

impl IntoYield<marker::Untyped> for Dynamic {
    type Out = Dynamic;

    fn into_flow(self) -> Result<Flow, NodeError> {
        Ok(Flow::output(self.0))
    }
}

impl IntoYield<marker::Raw> for Yield {
    type Out = Dynamic;

    fn into_flow(self) -> Result<Flow, NodeError> {
        Ok(Flow::Done(Some(self)))
    }
}

/// An input returned as the output. It is copied only if it is shared.
impl IntoYield<marker::Raw> for NodeInput {
    type Out = Dynamic;

    fn into_flow(self) -> Result<Flow, NodeError> {
        Ok(Flow::output(self.into_value()))
    }
}

/// A value with a route and state changes, stored as one event.
///
/// `R` is the type of the route: an enum that derives [`Routes`], or any route. With an enum, the workflow builds
/// only if each route has an edge or the node has a default edge.
#[derive(Clone, Debug)]
pub struct Output<T, R = AnyRoute> {
    value: T,
    event: Event,
    /// Why a state value was refused.
    fault: Option<NodeError>,
    among: PhantomData<fn() -> R>,
}

impl<T> Output<T> {
    /// Returns an output of this value.
    pub fn of(value: T) -> Self {
        Self { value, event: Event::new(), fault: None, among: PhantomData }
    }
}

impl<T, R> Output<T, R> {
    /// Sets the route.
    #[must_use]
    pub fn route<K: IntoRoute>(self, route: K) -> Output<T, K::Among> {
        Output { value: self.value, event: self.event.with_route(route), fault: self.fault, among: PhantomData }
    }

    /// Sets a state key.
    ///
    /// If the value cannot be written as JSON, for example because it contains NaN, the node fails with a
    /// `ValidationError` when it returns this output.
    #[must_use]
    pub fn state(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        let key = key.into();
        match pleach_core::to_json(value) {
            Ok(value) => self.event = self.event.with_state(key, value),
            Err(error) => self.fault = Some(NodeError::validation(format!("state key '{key}': {error}"))),
        }
        self
    }

    /// Adds a message for the user.
    #[must_use]
    pub fn message(mut self, message: impl Into<pleach_core::Message>) -> Self {
        self.event = self.event.with_message(message);
        self
    }
}

impl<T: Serialize + 'static, R: Routes> IntoYield<marker::Routed> for Output<T, R> {
    type Out = T;

    fn into_flow(self) -> Result<Flow, NodeError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let value = pleach_core::into_json(self.value).map_err(no_json)?;
        Ok(Flow::Done(Some(Yield::from(self.event.with_output(value)))))
    }

    fn routes() -> Option<&'static [&'static str]> {
        R::ROUTES
    }
}

/// Returns the error for an output that cannot be written as JSON.
fn no_json(error: serde_json::Error) -> NodeError {
    NodeError::validation(format!("the output has no JSON form: {error}"))
}
