//! What the agent's answer is stored as: the state under its output key, the output of its node.
// L150–L154, L182

use pleach_context::{AgentMode, NodeError};
use pleach_core::Event;
use serde_json::Value;

use super::AgentRun;
use crate::schema::structured;

impl AgentRun<'_> {
    /// Adds to a complete event of the agent what its text stores.
    ///
    /// # Errors
    /// A `ValidationError` for an answer that does not fit the agent's schema; the event is not to be stored then.
    pub(super) fn keep_answer(&mut self, event: &mut Event) -> Result<(), NodeError> {
        self.keep(event, self.agent.output_key.as_ref())
    }

    /// The same without the output key: for what a callback adds behind the answer.
    pub(super) fn keep_addition(&mut self, event: &mut Event) -> Result<(), NodeError> {
        self.keep(event, None)
    }

    fn keep(&mut self, event: &mut Event, output_key: Option<&String>) -> Result<(), NodeError> {
        if self.mode == AgentMode::Task || !has_text(event) {
            return Ok(());
        }
        let text = event.text();
        self.said.push_str(&text);
        let is_answer = event.function_calls().next().is_none() && event.function_responses().next().is_none();
        let is_output = is_answer && self.mode == AgentMode::SingleTurn;
        let Some(schema) = &self.agent.output_schema else {
            if let Some(key) = output_key {
                event.actions_mut().set_state(key.clone(), self.said.clone());
            }
            if is_output {
                event.set_output(Some(Value::from(text)));
                event.set_message_as_output(Some(true));
            }
            return Ok(());
        };
        if !is_answer {
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

/// Returns whether the event has a text that is not a thought.
fn has_text(event: &Event) -> bool {
    let parts = event.content().map(|content| content.parts()).unwrap_or_default();
    parts.iter().any(|part| part.text.is_some() && !part.is_thought())
}
