//! Agents, as the runtime sees them through [`Node::agent`](crate::Node::agent).

mod instruction;
mod spec;

pub use instruction::Instruction;
pub use spec::{AgentMode, AgentSpec, SecondParent};
