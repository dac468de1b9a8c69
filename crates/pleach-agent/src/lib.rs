//! Agents: nodes whose steps a model decides.
//!
//! This crate owns [`LlmAgent`] and the pure functions that build its requests:
//! - [`inject_session_state`] implements the template grammar of instructions.
//! - [`conversation`] returns the conversation that an agent sees.
//! - [`guidance`] contains the texts and declarations that agents add to a request.
//!
//! The engine runs agents like other nodes and stores their events.

mod call_ids;
mod code;
mod contents;
mod demand;
pub mod guidance;
mod json_text;
mod llm_agent;
mod names;
mod planner;
mod python;
mod run;
mod schema;
mod shell;
mod summarizer;
mod template;
mod tools;

pub use call_ids::ensure_call_ids;
pub use code::{CodeExecutor, CodeOutput, OutputFile};
pub use contents::{ConversationView, conversation, current_turn};
pub use json_text::json_text;
pub use llm_agent::callbacks::{
    AfterModelCallback, AfterToolCallback, AgentCallback, BeforeModelCallback, BeforeToolCallback, ModelErrorCallback,
    ToolErrorCallback,
};
pub use llm_agent::processors::{ProcessorPlace, RequestProcessor};
pub use llm_agent::{IncludeContents, LlmAgent, LlmAgentBuilder};
pub use planner::{BuiltInPlanner, Planner};
pub use pleach_schema::json_in_text;
pub use python::text as python_text;
pub use schema::OutputWrapper;
pub use shell::{LoopAgent, ParallelAgent, SequentialAgent, ShellAgentBuilder};
pub use summarizer::LlmSummarizer;
pub use template::{TemplateError, TemplateSource, inject_session_state};
pub use tools::{
    AgentTool, LoadArtifacts, NodeTool, exit_loop, get_user_choice, load_artifacts, load_memory, preload_memory,
    request_input,
};
