//! The results of a run: single yields, and the end of a body.

use std::fmt;

use futures_util::stream::BoxStream;
use pleach_core::{Event, RequestInput};
use serde_json::Value;

use super::NodeInput;
use crate::NodeError;

/// An item that a node yields. ADK: an item of `BaseNode.run`.
// R302
#[derive(Debug)]
pub enum Yield {
    /// An output value, sent as an event of its own.
    Output(Value),
    /// An event.
    Event(Box<Event>),
    /// An event of the runtime. Its output is not checked against the node's schema, because it is not the body's own
    /// result, and the notes in its metadata are kept.
    // R510
    Unchecked(Box<Event>),
    /// A question to the outside world.
    Ask(Box<RequestInput>),
    /// An output that another event already carries: a workflow's terminal output, or the output taken over from a
    /// child.
    Delegated(NodeInput),
}

/// The end of a run's body.
pub enum Flow {
    /// The body ended with a last yield, or with nothing.
    Done(Option<Yield>),
    /// The body returned a stream of yields. Each is stored before the next is requested.
    Stream(BoxStream<'static, Result<Yield, NodeError>>),
}

impl Flow {
    /// The end of a body without a result.
    pub const NOTHING: Self = Self::Done(None);

    /// Ends the body with this output. Null is treated as no output.
    #[must_use]
    pub fn output(value: Value) -> Self {
        Self::Done((!value.is_null()).then_some(Yield::Output(value)))
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(last) => f.debug_tuple("Done").field(last).finish(),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

impl From<Event> for Yield {
    fn from(event: Event) -> Self {
        Self::Event(Box::new(event))
    }
}

impl<T> From<RequestInput<T>> for Yield {
    fn from(ask: RequestInput<T>) -> Self {
        Self::Ask(Box::new(ask.with_answer()))
    }
}

impl From<Value> for Yield {
    fn from(value: Value) -> Self {
        Self::Output(value)
    }
}
