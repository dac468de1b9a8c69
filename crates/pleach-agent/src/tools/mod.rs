//! The tools that this crate provides for agents.

mod agent_tool;
mod answer;
mod artifacts;
mod builtin;
mod finish;
mod memory;
mod nested;
mod node_tool;
mod sub_agent;

pub use agent_tool::AgentTool;
pub use artifacts::{LoadArtifacts, load_artifacts};
pub use builtin::{exit_loop, get_user_choice, request_input};
pub use memory::{load_memory, preload_memory};
pub use node_tool::NodeTool;

pub(crate) use answer::AnswerTool;
pub(crate) use finish::{FINISHED, FinishTool, finished_too_early};
pub(crate) use sub_agent::SubAgentTool;
