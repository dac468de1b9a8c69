//! Executes one call of a response.
// L101, L102, L105, L106

use std::pin::pin;

use pleach_context::engine::{LaneSetup, RunHandle};
use pleach_context::telemetry::{OpenSpan, SpanEnd, execute_tool};
use pleach_context::{NodeError, Tool, ToolContext, ToolResult};
use pleach_core::{AuthConfig, BoxFuture, FunctionResponse, Map, Part, ToolConfirmation};
use pleach_workflow::{Called, ToolCall};
use serde_json::{Value, json};

use super::call_numbers::PendingCall;
use super::tools::ToolTable;
use crate::guidance::{FINISH_TASK, SET_MODEL_RESPONSE};
use crate::llm_agent::callbacks::Callbacks;
use crate::tools::{FINISHED, finished_too_early};

/// A call that has been executed.
pub(super) struct Executed<'c> {
    pub(super) pending: &'c PendingCall,
    pub(super) handle: RunHandle,
    /// The response; `None` if the result of the call comes later.
    pub(super) response: Option<FunctionResponse>,
    pub(super) confirmation: Option<ToolConfirmation>,
    pub(super) credential: Option<AuthConfig>,
    /// The arguments after all changes by hooks.
    pub(super) args: Map,
    /// The result as a text for the user, if the tool shows its result.
    pub(super) shown: Option<String>,
}

/// Executes the calls of an agent.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) handle: &'a RunHandle,
    pub(super) callbacks: &'a Callbacks,
    pub(super) tools: &'a ToolTable,
}

impl<'a> Caller<'a> {
    /// Creates the lane that a call runs in.
    pub(super) fn lane(self, pending: &PendingCall) -> RunHandle {
        let lane = self.handle.lane(LaneSetup::default());
        lane.set_function_call_id(pending.call.id.clone().unwrap_or_default());
        lane.set_call_number(pending.ordinal, &pending.key, pending.is_first);
        lane
    }

    /// Executes a call in its lane.
    ///
    /// # Errors
    /// The failure of the tool, unless a hook returns a result for it.
    pub(super) async fn execute<'c>(
        self,
        pending: &'c PendingCall,
        handle: RunHandle,
    ) -> Result<Executed<'c>, NodeError> {
        let _work = handle.work();
        let name = pending.call.name.as_deref().unwrap_or_default();
        let mut args = pending.call.args.clone().unwrap_or_default();
        let (result, may_be_pending, shows) = match self.tools.get(name) {
            Some(_) if pending.is_refused => (finished_too_early().into(), false, false),
            Some(tool) => {
                let span = OpenSpan::new(execute_tool(&**tool, &handle));
                let call = ToolCall { tool: &**tool, run: &handle, callbacks: self.callbacks };
                let called = span.around(pin!(call.make(&mut args))).await;
                match &called {
                    Ok(_) => span.end(SpanEnd::Completed),
                    Err(error) => span.fail(error.code()),
                }
                let result = match called? {
                    Called::Result(result) => result,
                    // Questions that a tool asks are stored on the event of the tool's response.
                    Called::Asks(_) => ToolResult::default(),
                };
                (result, tool.is_long_running(), tool.shows_result())
            }
            None => (self.unknown(name, &mut args, &handle).await?, false, false),
        };
        let id = pending.call.id.as_deref().unwrap_or_default();
        let actions = handle.actions();
        let confirmation = actions.requested_tool_confirmations().get(id).cloned();
        let credential = actions.requested_auth_configs().get(id).cloned();
        let shown = (shows && actions.skip_summarization() == Some(true)).then(|| shown(&result.value)).flatten();
        let response = (!may_be_pending || !result.is_falsy()).then(|| result.into_response(id, name));
        Ok(Executed { pending, handle, response, confirmation, credential, args, shown })
    }

    /// Answers a call of a function that the agent does not have.
    // L102
    async fn unknown(self, name: &str, args: &mut Map, handle: &RunHandle) -> Result<ToolResult, NodeError> {
        let tool = UnknownTool(name.to_owned());
        let call = ToolCall { tool: &tool, run: handle, callbacks: self.callbacks };
        if let Some(answer) = call.before(args).await? {
            return call.after(args, answer.into()).await;
        }
        let text = format!(
            "Invoking `{name}()` failed as no tool with that name is available. The tools you can call are: {}. You could retry, but it is IMPORTANT that you only call a tool from that list.",
            self.tools.names()
        );
        let error = NodeError::value(format!(
            "Tool '{name}' not found.\nAvailable tools: {}\n\nPossible causes:\n  1. LLM hallucinated the function name - review agent instruction clarity\n  2. Tool not registered - verify agent.tools list\n  3. Name mismatch - check for typos\n\nSuggested fixes:\n  - Review agent instruction to ensure tool usage is clear\n  - Verify tool is included in agent.tools list\n  - Check for typos in function name",
            self.tools.names()
        ));
        Ok(call.on_error(args, &error).await?.unwrap_or_else(|| json!({"error": text})).into())
    }
}

impl Executed<'_> {
    /// Returns `true` if the agent continues after the call: the call does not transfer, answer or end the agent's
    /// task.
    pub(super) fn leaves_open(&self) -> bool {
        let actions = self.handle.actions();
        actions.transfer_to_agent().is_none() && actions.set_model_response().is_none() && !self.finishes()
    }

    /// Returns `true` if the call only has a response, so that it may be stored before the other calls have ended.
    pub(super) fn is_plain(&self) -> bool {
        self.leaves_open() && self.handle.actions().escalate() != Some(true)
    }

    /// Returns `true` if the call has ended the agent's task.
    pub(super) fn finishes(&self) -> bool {
        let done = self.response.as_ref().and_then(|response| response.response.as_ref()?.get("result"));
        self.pending.call.name.as_deref() == Some(FINISH_TASK) && done.and_then(Value::as_str) == Some(FINISHED)
    }

    /// Takes the part with the response and the part with the text for the user. There are no parts if the result
    /// comes later.
    pub(super) fn take_parts(&mut self) -> impl Iterator<Item = Part> + use<> {
        let response = self.response.take().map(Part::function_response);
        response.into_iter().chain(self.shown.take().map(Part::text))
    }

    /// Returns the answer of the model if the call is one of `set_model_response`.
    pub(super) fn answer(&self) -> Option<Value> {
        if self.pending.call.name.as_deref() != Some(SET_MODEL_RESPONSE) {
            return None;
        }
        self.handle.actions().set_model_response().cloned()
    }
}

/// Returns a result as a text for the user; `None` if the result is empty or an error.
// L111
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Object(fields) if fields.is_empty() || fields.contains_key("error") => None,
        other => crate::json_text(other).ok(),
    }
}

/// A function that the model has called, but that the agent does not have.
struct UnknownTool(String);

impl Tool for UnknownTool {
    fn name(&self) -> &str {
        &self.0
    }

    fn run<'a>(&'a self, _: &'a Map, _: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        Box::pin(async move { Err(NodeError::value(format!("there is no tool `{}`", self.0))) })
    }
}
