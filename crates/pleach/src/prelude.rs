//! What most programs need: `use pleach::prelude::*;`.

#[cfg(feature = "inmemory")]
pub use crate::RunnerExt;
pub use crate::{
    Answers, BuildError, Content, Context, DEFAULT, Dynamic, Event, Fail, FromState, FunctionNode, Input, Key, Message,
    NodeError, Output, Part, RequestInput, Result, ResultExt, Resume, RetryConfig, RunError, RunEvent, Runner, START,
    SessionService, Shared, Workflow, connect,
};
