//! Nodes made from handlers: plain `async fn`s whose parameter and result types declare input and output.

mod blocking;
mod gated;
mod handler;
mod into_yield;
mod node;

pub use blocking::Blocking;
pub use handler::{Handler, Shape};
pub use into_yield::{IntoYield, Output, ResultWhoseErrorIsNotSerializable, marker};
pub use node::FunctionNode;
