//! The traits that make a function a handler.
//!
//! They define what its parameters may be, what it may return, and which values fit its input. The signatures of
//! other items name these traits; programs seldom need to.

pub use pleach_agent::{
    AfterModelCallback, AfterToolCallback, AgentCallback, BeforeModelCallback, BeforeToolCallback, ModelErrorCallback,
    ToolErrorCallback,
};
pub use pleach_context::{And, Decode, Feeds, Nothing, Takes, Typed, Untyped, Wants, fit};
pub use pleach_workflow::{
    Blocking, Handler, IntoYield, ResultWhoseErrorIsNotSerializable, Shape, ToolHandler, ToolParam, ToolParams,
    ToolReply, Unbound, marker,
};
