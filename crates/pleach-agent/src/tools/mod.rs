//! Tools that agents bring themselves.

mod answer;
mod finish;
mod sub_agent;

pub(crate) use answer::AnswerTool;
pub(crate) use finish::{FINISHED, FinishTool};
pub(crate) use sub_agent::SubAgentTool;
