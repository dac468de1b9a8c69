//! Tools: made from handlers, and as nodes of a graph.

mod arguments;
mod call;
mod function;
mod handler;
mod kept;
mod node;
mod params;

pub use call::{Callback, Called, ToolCall, ToolCallbacks, confirmation_gate};
pub use function::{FunctionTool, tool};
pub use handler::{ToolHandler, ToolReply};
pub use node::ToolNode;
pub use params::{Args, ToolParam, ToolParams, Unbound};
