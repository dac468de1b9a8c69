//! Tools that agents bring themselves.

mod agent_tool;
mod answer;
mod builtin;
mod finish;
mod nested;
mod node_tool;
mod sub_agent;

pub use agent_tool::AgentTool;
pub use builtin::{exit_loop, get_user_choice, load_memory};
pub use node_tool::NodeTool;

pub(crate) use answer::AnswerTool;
pub(crate) use finish::{FINISHED, FinishTool};
pub(crate) use sub_agent::SubAgentTool;
