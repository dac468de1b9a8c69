//! Tools: made from handlers, and as nodes of a graph.

mod arguments;
mod function;
mod handler;
mod node;
mod params;

pub use function::{FunctionTool, tool};
pub use handler::{ToolHandler, ToolReply};
pub use node::{ToolNode, confirmation_gate};
pub use params::{Args, ToolParam, ToolParams, Unbound};
