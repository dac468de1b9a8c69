//! [`RequestInput`]: a node's question to a person.
// R123, R140

use std::fmt;
use std::marker::PhantomData;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Content, Event, FunctionCall, Part};

/// The reserved function with which a node asks a person. ADK: `REQUEST_INPUT_FUNCTION_CALL_NAME`
#[doc(alias = "REQUEST_INPUT_FUNCTION_CALL_NAME")]
pub const REQUEST_INPUT: &str = "adk_request_input";
/// The reserved function with which a node asks for a credential. ADK: `REQUEST_CREDENTIAL_FUNCTION_CALL_NAME`
#[doc(alias = "REQUEST_CREDENTIAL_FUNCTION_CALL_NAME")]
pub const REQUEST_CREDENTIAL: &str = "adk_request_credential";
/// The reserved function with which a tool asks for permission. ADK: `REQUEST_CONFIRMATION_FUNCTION_CALL_NAME`
#[doc(alias = "REQUEST_CONFIRMATION_FUNCTION_CALL_NAME")]
pub const REQUEST_CONFIRMATION: &str = "adk_request_confirmation";

/// The names of the runtime's own functions, which no tool may have. ADK: the functions of its flows.
pub const RESERVED_FUNCTIONS: [&str; 6] =
    [REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT, "finish_task", "set_model_response", "transfer_to_agent"];

/// A node's question to a person; the answer of type `T` becomes the node's output. ADK: `RequestInput`
///
/// It deliberately does not implement `Serialize`: if a node returns it, it must become a question and never an output.
///
/// # Example
/// If a node returns a question, the run ends until the answer comes. The answer is the node's output.
/// ```
/// # use pleach_core::RequestInput;
/// async fn approve() -> RequestInput<bool> {
///     RequestInput::ask("refund-T-102", "Refund 189.00?").assign_to("accounting")
/// }
/// ```
pub struct RequestInput<T = Value> {
    /// The id that the answer must have; if there is none, the engine assigns a UUID.
    pub interrupt_id: Option<String>,
    /// The text of the question.
    pub message: Option<String>,
    /// Data to show with the message: user data, whose keys are never renamed.
    pub payload: Option<Value>,
    /// The JSON schema that the answer must satisfy.
    pub response_schema: Option<Value>,
    /// The person or role that is asked; see [`RequestInput::assign_to`].
    pub assignee: Option<String>,
    /// The time when the question is answered automatically, in seconds since the epoch; see
    /// [`RequestInput::with_deadline`].
    pub deadline: Option<f64>,
    /// The answer that is used at the deadline; see [`RequestInput::with_default`].
    pub default: Option<Value>,
    /// The reason why the payload has no JSON form.
    payload_fault: Option<String>,
    answer: PhantomData<fn() -> T>,
}

impl<T> RequestInput<T> {
    /// Creates an empty question.
    pub fn new() -> Self {
        Self {
            interrupt_id: None,
            message: None,
            payload: None,
            response_schema: None,
            assignee: None,
            deadline: None,
            default: None,
            payload_fault: None,
            answer: PhantomData,
        }
    }

    /// Creates a question with its id and its text.
    pub fn ask(id: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new().with_id(id).with_message(message)
    }

    /// Sets the id.
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.interrupt_id = Some(id.into());
        self
    }

    /// Sets the text.
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Sets the data to show with the text: a value or a reference to one. If the data has no JSON form, for example
    /// because of a NaN, asking fails.
    pub fn with_payload(mut self, payload: impl Serialize) -> Self {
        match crate::to_json(payload) {
            Ok(payload) => (self.payload, self.payload_fault) = (Some(payload), None),
            Err(fault) => (self.payload, self.payload_fault) = (None, Some(fault.to_string())),
        }
        self
    }

    /// Sets the data to show with the text, if it has a JSON form.
    ///
    /// # Errors
    /// Fails if the value has no JSON form, for example because of a NaN.
    pub fn try_with_payload(mut self, payload: impl Serialize) -> serde_json::Result<Self> {
        self.payload = Some(crate::to_json(payload)?);
        Ok(Self { payload_fault: None, ..self })
    }

    /// Returns the reason why the payload has no JSON form; `None` if it has one.
    pub fn payload_fault(&self) -> Option<&str> {
        self.payload_fault.as_deref()
    }

    /// Sets the JSON schema of the answer.
    pub fn with_schema(mut self, schema: impl Into<Value>) -> Self {
        self.response_schema = Some(schema.into());
        self
    }

    /// Sets the person or role that is asked. Any string is allowed, and listings of questions can filter by it.
    ///
    /// It does not restrict who may answer. google-adk ignores it.
    pub fn assign_to(mut self, assignee: impl Into<String>) -> Self {
        self.assignee = Some(assignee.into());
        self
    }

    /// Sets a deadline. If nobody has answered by then, the question is answered with the
    /// [default](Self::with_default), or with null if there is none. The answer is an event like any other. A time
    /// before 1970 is treated as 1970. google-adk ignores the deadline.
    pub fn with_deadline(mut self, deadline: SystemTime) -> Self {
        self.deadline = Some(deadline.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64());
        self
    }

    /// Sets the answer that is used at the [deadline](Self::with_deadline). It must satisfy the schema. A default
    /// without a deadline is an error when the question is asked.
    pub fn with_default(mut self, answer: impl Into<Value>) -> Self {
        self.default = Some(answer.into());
        self
    }

    /// Changes only the type of the answer.
    pub fn with_answer<U>(self) -> RequestInput<U> {
        RequestInput {
            interrupt_id: self.interrupt_id,
            message: self.message,
            payload: self.payload,
            response_schema: self.response_schema,
            assignee: self.assignee,
            deadline: self.deadline,
            default: self.default,
            payload_fault: self.payload_fault,
            answer: PhantomData,
        }
    }

    /// Creates the event that asks the question under the id `id`.
    ///
    /// It calls `adk_request_input` with the arguments `{"interruptId", "payload", "message", "response_schema"}`,
    /// which are `null` if unset and are spelled the same in both casings. Further arguments are `"assignee"`,
    /// `"deadline"` (seconds since the epoch) and `"default"`, which are left out if unset.
    // R123
    pub fn into_event(self, id: impl Into<String>) -> Event {
        let id = id.into();
        let mut args = Map::from_iter([
            ("interruptId".to_owned(), Value::from(id.as_str())),
            ("payload".to_owned(), self.payload.unwrap_or_default()),
            ("message".to_owned(), self.message.map_or(Value::Null, Value::from)),
            ("response_schema".to_owned(), self.response_schema.unwrap_or_default()),
        ]);
        let others = [
            ("assignee", self.assignee.map(Value::from)),
            ("deadline", self.deadline.map(Value::from)),
            ("default", self.default),
        ];
        let set = others.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        args.extend(set);
        let call = Part::function_call(FunctionCall::new(id.as_str(), REQUEST_INPUT, args));
        Event::new().with_content(Content::new("model", [call])).with_long_running([id])
    }
}

impl<T> Default for RequestInput<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for RequestInput<T> {
    fn clone(&self) -> Self {
        Self {
            interrupt_id: self.interrupt_id.clone(),
            message: self.message.clone(),
            payload: self.payload.clone(),
            response_schema: self.response_schema.clone(),
            assignee: self.assignee.clone(),
            deadline: self.deadline,
            default: self.default.clone(),
            payload_fault: self.payload_fault.clone(),
            answer: PhantomData,
        }
    }
}

impl<T> fmt::Debug for RequestInput<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestInput")
            .field("interrupt_id", &self.interrupt_id)
            .field("message", &self.message)
            .field("payload", &self.payload)
            .field("response_schema", &self.response_schema)
            .field("assignee", &self.assignee)
            .field("deadline", &self.deadline)
            .field("default", &self.default)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RequestInput;
    use crate::{Event, to_camel};

    // R123: the event of a question; the spelling of the arguments never changes.
    #[test]
    fn question_becomes_the_event_of_the_reference() {
        let ask: RequestInput = RequestInput::ask("q1", "m").with_payload(json!({"p_q": 1}));
        let args = json!({"interruptId": "q1", "payload": {"p_q": 1}, "message": "m", "response_schema": null});
        let event = ask.into_event("q1");
        let camel = to_camel(&event).unwrap();
        let call = json!({"id": "q1", "name": "adk_request_input", "args": args});
        assert_eq!(camel["content"], json!({"parts": [{"functionCall": call}], "role": "model"}));
        assert_eq!(camel["longRunningToolIds"], json!(["q1"]));
        let stored = serde_json::to_value(&event).unwrap();
        assert_eq!(stored["content"]["parts"][0]["function_call"]["args"], args);
        assert_eq!(serde_json::from_value::<Event>(camel).unwrap(), event);
    }

    #[test]
    fn unset_arguments_are_null() {
        let event = RequestInput::<i32>::new().into_event("x");
        let call = event.function_calls().next().unwrap();
        let args = json!({"interruptId": "x", "payload": null, "message": null, "response_schema": null});
        assert_eq!(json!(call.args), args);
    }
}
