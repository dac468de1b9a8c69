//! [`Next`]: what a run does next.

use serde_json::Value;

use super::call_numbers::PendingCall;

/// What a run does next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// It begins.
    Start,
    /// It asks its model.
    AskModel,
    /// It executes calls that have no response yet, and then waits for these answers.
    Execute(Vec<PendingCall>, Vec<String>),
    /// It executes code that its model has written.
    ExecuteCode(String),
    /// It waits for answers to these questions.
    Wait(Vec<String>),
    /// It says the answer that it has given by a call.
    Say(Value),
    /// It has transferred.
    Transfer,
    /// It has said its last words; those of a task ask the user.
    Said,
    /// It is done.
    Ended,
}
