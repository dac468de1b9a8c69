//! The items that most programs need: `use pleach::prelude::*;`.

#[cfg(feature = "inmemory")]
pub use crate::RunnerExt;
pub use crate::connect_model::model;
pub use crate::model::ScriptedModel;
pub use crate::{
    AgentMode, Answers, Args, BuildError, Content, Context, DEFAULT, Dynamic, Event, Fail, FromState, FunctionNode,
    FunctionTool, Input, Key, LlmAgent, Message, NodeError, Output, Part, RequestInput, Result, ResultExt, Resume,
    RetryConfig, Routes, RunConfig, RunError, RunEvent, RunRequest, Runner, START, SessionKey, SessionService, Shared,
    Step, Tool, ToolContext, ToolNode, Workflow, connect, tool,
};
