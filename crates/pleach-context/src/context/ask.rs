//! The methods of `Context` that ask a person in the middle of a node.

use pleach_core::{Content, Event, Map, RequestInput};
use pleach_schema::read_answer;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Context;
use crate::NodeError;
use crate::engine::{InFlightCall, check_reserved, question_event};
use crate::extract::warn_unread;

impl Context {
    /// The answers to this run's questions, by question id; empty unless the run resumes.
    #[must_use]
    pub fn resume_inputs(&self) -> &Map {
        static NONE: std::sync::LazyLock<Map> = std::sync::LazyLock::new(Map::new);
        self.inner.resume_inputs.as_deref().unwrap_or(&NONE)
    }

    /// Asks a question in the middle of a node and returns the answer. Until there is one, the future stays pending
    /// ("parked") and the run can pause.
    ///
    /// The body is dropped as soon as all its calls to the context that are in progress are parked. Any other work in
    /// progress (an HTTP request, a tokio sleep) is cancelled at that moment: await it first, or run it as a child.
    ///
    /// The stored question has the JSON schema of `T`, so an answer that the schema refuses is not stored. An answer
    /// that fits the schema but cannot be read as a `T` is stored; then the question is asked again, and a warning in
    /// the log names the field. When an answer arrives, the node runs again from its start.
    ///
    /// # Errors
    /// - A `ValueError` if this node has no `rerun_on_resume`.
    /// - A `ValueError` in the body of a tool that an agent calls. There, ask with
    ///   [`request_confirmation`](Self::request_confirmation), or run a node that asks.
    /// - A `RuntimeError` in a step.
    ///
    /// # Cancel safety
    /// Once the future has been polled, the question is stored even if the future is dropped.
    pub async fn ask<T: DeserializeOwned + JsonSchema>(
        &self,
        id: &str,
        message: impl Into<String>,
    ) -> Result<T, NodeError> {
        let mut question = RequestInput::ask(id, message);
        question.response_schema = json_schema_of::<T>();
        self.ask_typed(question).await
    }

    /// Returns the answer to a question as a `T`. If there is none, or if it is not a `T`, the question is asked.
    pub(super) async fn ask_typed<T: DeserializeOwned>(&self, question: RequestInput) -> Result<T, NodeError> {
        let answer = question.interrupt_id.as_ref().and_then(|id| self.resume_inputs().get(id));
        match answer.map(read_answer) {
            Some(Ok(answer)) => return Ok(answer),
            Some(Err(error)) => warn_unread(self, &error),
            None => {}
        }
        Err(self.wait_for_answer(question).await)
    }

    /// Asks a question with all its options, and returns the answer as a `T`, or as JSON for a plain `RequestInput`.
    /// See [`Context::ask`].
    ///
    /// The question has the JSON schema of `T` unless it has its own. A question with a deadline and no default is
    /// answered with null at the deadline, so use an `Option` for `T`.
    ///
    /// # Errors
    /// A `ValueError` if this node has no `rerun_on_resume`, if the question has no id, or if the default does not
    /// fit the schema. Without an id, a resumed run could not find the answer.
    ///
    /// # Cancel safety
    /// As [`Context::ask`].
    pub async fn ask_with<T: DeserializeOwned + JsonSchema>(&self, question: RequestInput<T>) -> Result<T, NodeError> {
        if question.interrupt_id.is_none() {
            return Err(NodeError::value(format!(
                "node '{}' asks a question without an id, which a resumed run could not match with its answer: make it with `RequestInput::ask(id, message)`",
                self.node_name()
            )));
        }
        self.ask_typed(typed(question)).await
    }

    /// Asks, and waits until the body is dropped.
    pub(super) async fn wait_for_answer(&self, question: RequestInput) -> NodeError {
        match question.interrupt_id.as_deref().map_or(Ok(()), check_reserved) {
            Ok(()) => self.wait_for(vec![question], None).await,
            Err(error) => error,
        }
    }

    /// Asks questions, and waits until the body is dropped. The questions of a select are alternatives.
    pub(super) async fn wait_for(&self, questions: Vec<RequestInput>, select: Option<&str>) -> NodeError {
        if let Err(error) = self.check_may_wait() {
            return error;
        }
        let event = match self.event_for(questions, select) {
            Ok(event) => event,
            Err(error) => return error,
        };
        let live = InFlightCall::enter(self);
        match self.emit(event).await {
            Ok(()) => live.park().await,
            Err(error) => error,
        }
    }

    /// Checks that an answer would reach this call.
    pub(super) fn check_may_wait(&self) -> Result<(), NodeError> {
        self.check_outside_step("waits for an answer: ask before the step")?;
        let node = self.node_name();
        if !self.inner.rerun_on_resume {
            return Err(NodeError::value(format!(
                "Node '{node}' waits in the middle of its body, so it must run again when the answer comes: add it with `FunctionNode::new(\"{node}\", …).rerun_on_resume(true)`, or return a `RequestInput` instead."
            )));
        }
        if self.cell().lane.tool.as_ref().is_some_and(|tool| !tool.key.is_empty()) {
            let text = format!("the tool call of agent '{}' waits for an answer in its body", self.agent_name());
            return Err(NodeError::value(text).with_hint(
                "an answer goes to the agent and not to the call: ask with `request_confirmation`, or run a node that asks",
            ));
        }
        Ok(())
    }

    /// Makes the event that asks these questions. Every question has an id.
    fn event_for(&self, questions: Vec<RequestInput>, select: Option<&str>) -> Result<Event, NodeError> {
        let (mut calls, mut ids) = (Vec::new(), Vec::new());
        for mut question in questions {
            let id = question.interrupt_id.take().unwrap_or_default();
            if let Some(deadline) = &mut question.deadline {
                // The first deadline applies: a body that runs again would set a later one.
                *deadline = self.asked_deadline(&id, select).unwrap_or(*deadline);
            }
            let content = question_event(id.clone(), question)?.take_content();
            for mut part in content.and_then(|content| content.parts).unwrap_or_default() {
                if let (Some(call), Some(select)) = (&mut part.function_call, select) {
                    call.args.get_or_insert_default().insert("select".to_owned(), select.into());
                }
                calls.push(part);
            }
            ids.push(id);
        }
        Ok(Event::new().with_content(Content::new("model", calls)).with_long_running(ids))
    }
}

/// Sets the schema of the answer's type on a question that has no schema.
pub(super) fn typed<T: JsonSchema>(question: RequestInput<T>) -> RequestInput {
    let mut question = question.with_answer();
    question.response_schema = question.response_schema.or_else(json_schema_of::<T>);
    question
}

/// Returns the JSON schema of a type in the form that questions carry, or `None` if it says nothing about the type.
#[must_use]
pub fn json_schema_of<T: JsonSchema>() -> Option<Value> {
    const CONSTRAINTS: [&str; 8] = ["type", "properties", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"];
    let mut schema = schemars::schema_for!(T).to_value();
    let fields = schema.as_object_mut()?;
    if !has_optional_keys(fields) {
        fields.remove("$schema");
    }
    CONSTRAINTS.iter().any(|keyword| fields.contains_key(*keyword)).then_some(schema)
}

/// Returns true if answers may omit some keys. Such a schema keeps its `$schema` key, because without it an absent
/// key is read as null.
fn has_optional_keys(schema: &Map) -> bool {
    let required = schema.get("required").and_then(Value::as_array).map_or(0, Vec::len);
    schema.get("properties").and_then(Value::as_object).is_some_and(|properties| properties.len() > required)
}
