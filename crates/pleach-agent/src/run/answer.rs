//! Stores the agent's answer: as state under its output key, and as the output of its node.
// L150–L154, L182

use std::sync::Arc;

use pleach_context::{AgentMode, NodeError, NodeInput};
use pleach_core::{Event, Part};
use serde_json::Value;

use super::AgentRun;
use crate::schema::structured;

impl AgentRun<'_> {
    /// Adds the agent's answer, which is the text of a complete event, to that event: as state under the output key,
    /// and as the output of the node.
    ///
    /// # Errors
    /// A `ValidationError` if the answer does not fit the agent's schema. The event must not be stored in this case.
    pub(super) fn keep_answer(&mut self, event: &mut Event) -> Result<(), NodeError> {
        self.keep(event, self.agent.output_key.as_ref())
    }

    /// Like [`keep_answer`](Self::keep_answer), but for an event that a callback adds after the answer. Its text
    /// becomes the output, but is not stored under the output key.
    pub(super) fn keep_addition(&mut self, event: &mut Event) -> Result<(), NodeError> {
        if self.mode == AgentMode::SingleTurn { self.keep(event, None) } else { Ok(()) }
    }

    /// Restores the output that an earlier attempt of the run has stored.
    pub(super) fn restore_output(&self, event: Arc<Event>) {
        let output = match event.output() {
            Some(_) => NodeInput::Output(event),
            None => NodeInput::json(event.text()),
        };
        self.handle.restore_output(output);
    }

    fn keep(&mut self, event: &mut Event, output_key: Option<&String>) -> Result<(), NodeError> {
        if self.mode == AgentMode::Task {
            return Ok(());
        }
        let text = event.text();
        let has_text = has_text(event);
        let is_answer = is_answer(event, self.agent.code_executor.is_some());
        // A node has an output even if the model's answer has no text, for example if it is an image.
        let is_output = is_answer && self.mode == AgentMode::SingleTurn && is_of_model(event);
        if has_text {
            self.said.push_str(&text);
        }
        let Some(schema) = &self.agent.output_schema else {
            // The texts of a conversing agent are joined. A node outputs its last text only.
            let value = if is_output || (is_answer && text.is_empty()) { &text } else { &self.said };
            if let Some(key) = output_key.filter(|_| is_output || has_text) {
                event.actions_mut().set_state(key.clone(), value.clone());
            }
            if is_output {
                event.set_output(Some(Value::from(text)));
                event.set_message_as_output(Some(true));
            }
            return Ok(());
        };
        // The text of a conversing agent is checked only if it is stored under the output key.
        if !is_answer || !has_text || !(is_output || output_key.is_some()) {
            return Ok(());
        }
        let Some(value) = structured(schema, &text)? else { return Ok(()) };
        if let Some(key) = output_key {
            event.actions_mut().set_state(key.clone(), value.clone());
        }
        if is_output {
            event.set_output(Some(value));
        }
        Ok(())
    }
}

/// Returns `true` if the event is an answer: it has no calls, no responses and no code to execute.
fn is_answer(event: &Event, executes_code: bool) -> bool {
    let parts = event.content().map(|content| content.parts()).unwrap_or_default();
    let leads_on = |part: &Part| part.function_call.is_some() || part.function_response.is_some();
    let ends_in_code = parts.last().is_some_and(|last| last.executable_code.is_some());
    event.content().is_some() && !parts.iter().any(leads_on) && !(executes_code && ends_in_code)
}

fn is_of_model(event: &Event) -> bool {
    event.content().and_then(|content| content.role.as_deref()).is_none_or(|role| role == "model")
}

/// Returns `true` if the event has a text that is not a thought.
fn has_text(event: &Event) -> bool {
    let parts = event.content().map(|content| content.parts()).unwrap_or_default();
    parts.iter().any(|part| part.text.is_some() && !part.is_thought())
}
