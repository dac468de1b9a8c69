//! [`Next`]: the next action of a run.

use serde_json::Value;

use super::call_numbers::PendingCall;

/// The next action of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// The run begins.
    Start,
    /// The run calls its model.
    AskModel,
    /// The run executes these calls, then waits for answers to the questions with these ids.
    Execute(Vec<PendingCall>, Vec<String>),
    /// The run executes this code of its model.
    ExecuteCode(String),
    /// The run waits for answers to the questions with these ids.
    Wait(Vec<String>),
    /// The run stores this answer, which the model has returned with a call.
    Say(Value),
    /// The run has transferred to another agent.
    Transfer,
    /// The run has stored its final text. In a task, that text is a question to the user.
    Said,
    /// The run is done.
    Ended,
}
