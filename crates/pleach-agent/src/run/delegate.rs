//! Tasks: calls that delegate to another agent, and the end of the agent's own task.
// L190–L193

use pleach_context::engine::{LaneSetup, mark_task_response};
use pleach_context::{AgentMode, NodeError, NodeInput, RunOptions};
use pleach_core::{Content, Event, FunctionResponse, Map, Part};
use serde_json::Value;

use super::AgentRun;
use super::call::Executed;
use super::call_numbers::PendingCall;
use super::tools::ToolTable;
use crate::guidance::FINISH_TASK;

impl PendingCall {
    /// Marks a call that ends the agent's task as refused, because the same batch delegates another task.
    // L192
    pub(super) fn refuse_finish(&mut self) {
        if self.call.name.as_deref() == Some(FINISH_TASK) {
            self.is_refused = true;
        }
    }
}

impl AgentRun<'_> {
    /// Runs the agent that a call delegates to, and stores its result as the response of the call.
    ///
    /// The future never resolves while that agent waits for the user: the run pauses.
    // L190, L191
    pub(super) async fn delegate(&self, pending: &PendingCall, tools: &ToolTable) -> Result<(), NodeError> {
        let Some(agent) = tools.task_of(pending) else { return Ok(()) };
        let (id, name) = (pending.call.id.clone().unwrap_or_default(), pending.call.name.clone().unwrap_or_default());
        let options = RunOptions::default()
            .run_id(pending.key.as_str())
            .use_sub_branch(true)
            .override_isolation_scope(if pending.key.contains('~') { pending.key.clone() } else { id.clone() })
            .raise_on_wait(true);
        let args = Value::Object(pending.call.args.clone().unwrap_or_default());
        let output = self.handle.run_node(&**agent, NodeInput::json(args), options).await?;
        let response = match output.to_value() {
            Value::Object(fields) => fields,
            other => Map::from_iter([("output".to_owned(), other)]),
        };
        let part = Part::function_response(FunctionResponse::new(id, name, response));
        // google-adk stores the response in the user's name.
        let lane = self.handle.lane(LaneSetup { author: Some("user".into()), ..LaneSetup::default() });
        let mut event = Event::new().with_content(Content::new("user", [part]));
        mark_task_response(&mut event, &self.agent.agent.name);
        lane.emit_noted(event).await
    }

    /// Adds the result of the agent's task to the event of the responses. The result comes from `args`, the arguments
    /// of the call that has ended the task. Returns `true` if `args` hold a result.
    // L154, L192
    pub(super) fn keep_task_result(&self, event: &mut Event, args: &Map) -> bool {
        let tool = self.finish_tool();
        let Ok(result) = tool.result(args) else { return false };
        if let Some(key) = &self.agent.output_key {
            // google-adk stores the model's value before it is converted.
            event.actions_mut().set_state(key.clone(), tool.given(args));
        }
        event.set_output(Some(result));
        true
    }

    /// Returns the arguments of the call that has ended the agent's own task.
    pub(super) fn finishing_args<'e>(&self, executed: &'e [Executed<'_>]) -> Option<&'e Map> {
        if self.mode != AgentMode::Task {
            return None;
        }
        executed.iter().find(|call| call.finishes()).map(|call| &call.args)
    }
}
