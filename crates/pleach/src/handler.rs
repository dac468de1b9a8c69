//! The traits that make a function a handler: what its parameters may be, what it may return, and how a value fits the
//! node it is given to. Signatures name them; programs seldom do.

pub use pleach_agent::{
    AfterModelCallback, AfterToolCallback, AgentCallback, BeforeModelCallback, BeforeToolCallback, ModelErrorCallback,
    ToolErrorCallback,
};
pub use pleach_context::{And, Decode, Feeds, Nothing, Takes, Typed, Untyped, Wants, fit};
pub use pleach_workflow::{
    Blocking, Handler, IntoYield, ResultWhoseErrorIsNotSerializable, Shape, ToolHandler, ToolParam, ToolParams,
    ToolReply, Unbound, marker,
};
