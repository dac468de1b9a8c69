//! Questions to the outside world, read back from the events that ask them.
// R123, R129, R130, R940

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::request_input::{REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT};
use crate::{Event, FunctionCall, InvocationId, NodePath};

/// Prefix of the ids of a node's requests for confirmation.
pub const NODE_CONFIRMATION: &str = "wf_tool_confirmation:";
/// Prefix of the ids of sleeps, which are stored as questions to the clock. In an id it is followed by the run's
/// path and the number of the sleep.
pub const TIMER: &str = "pleach_timer:";
/// Prefix of the ids of waits for a signal, which are stored as questions to programs. In an id it is followed by
/// the run's path and the number of the wait.
pub const SIGNAL: &str = "pleach_signal:";

/// A question that an event asks, as the person who answers it sees it.
///
/// A question is identified by its invocation and its id. Its JSON uses the names of the fields:
///
/// ```json
/// {"id": "manager", "kind": "user_input", "function": "adk_request_input", "message": "Refund 12?", "payload": null,
///  "response_schema": {"type": "boolean"}, "assignee": "team-lead", "node_path": "refunds@1/refund@1",
///  "invocation_id": "e-1", "author": "refunds", "asked_at": 1700000000.5}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The id that the answer must have.
    pub id: String,
    /// The kind of answer that is expected.
    pub kind: QuestionKind,
    /// The name of the function whose call asks: a reserved function or the long-running tool.
    pub function: String,
    /// The text of the question, which may be empty. For a wait, the name of the signal.
    pub message: String,
    /// Data to show with the message; see [`QuestionKind`].
    #[serde(default)]
    pub payload: Option<Value>,
    /// The JSON schema that the answer must satisfy.
    #[serde(default)]
    pub response_schema: Option<Value>,
    /// The person or role that is asked; see [`RequestInput::assign_to`](crate::RequestInput::assign_to).
    #[serde(default)]
    pub assignee: Option<String>,
    /// The time when the question is answered automatically if nobody has answered it, in seconds since the epoch. The
    /// answer is then `default`, or null. Left out of the JSON if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<f64>,
    /// The answer that is used at the deadline. Left out of the JSON if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The select to which the question belongs. Questions of one run with the same value are alternatives: an answer
    /// to one of them closes the others. Left out of the JSON if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<String>,
    /// The path of the run that asks.
    pub node_path: NodePath,
    /// The id of the invocation that waits.
    pub invocation_id: InvocationId,
    /// The author of the event: the name of an agent or a workflow.
    pub author: String,
    /// The time the question was asked, in seconds since the epoch.
    pub asked_at: f64,
}

/// The kind of answer that a question expects. Its JSON is the name in snake case, such as `"long_running"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QuestionKind {
    /// Any answer that satisfies the schema. The payload is the one that the node set.
    UserInput,
    /// Permission for a call, as a [`ToolConfirmation`](crate::ToolConfirmation). The payload of a node's request names
    /// the tool and its arguments; the payload of an agent's request has `originalFunctionCall` and `toolConfirmation`.
    Confirmation,
    /// A credential. The payload is the [`AuthConfig`](crate::AuthConfig) to fill in.
    Credential,
    /// The result of a long-running tool. The payload holds the tool's arguments.
    LongRunning,
    /// No answer from a person: the run sleeps until the question's deadline.
    Timer,
    /// The payload of a signal. `message` holds the name of the signal.
    Signal,
}

impl QuestionKind {
    /// Returns the kind's name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserInput => "user_input",
            Self::Confirmation => "confirmation",
            Self::Credential => "credential",
            Self::LongRunning => "long_running",
            Self::Timer => "timer",
            Self::Signal => "signal",
        }
    }

    /// Returns `true` if people answer questions of this kind: every kind except `Timer` and `Signal`.
    #[must_use]
    pub fn is_for_people(self) -> bool {
        !matches!(self, Self::Timer | Self::Signal)
    }
}

impl Event {
    /// Returns the questions that the event asks, in the order of its calls.
    ///
    /// A long-running id without a call is not a question, because it cannot be answered.
    // R141, R901
    pub fn questions(&self) -> Vec<Question> {
        self.questions_from_calls(|_| true)
    }

    /// Returns the event's questions that have a deadline. Most calls have no deadline, and their arguments are not
    /// read.
    pub fn questions_with_deadline(&self) -> Vec<Question> {
        let has_deadline = |call: &FunctionCall| call.args.as_ref().is_some_and(|args| args.contains_key("deadline"));
        let mut questions = self.questions_from_calls(has_deadline);
        questions.retain(|question| question.deadline.is_some());
        questions
    }

    /// Returns the questions that the wanted calls ask.
    fn questions_from_calls(&self, is_wanted: impl Fn(&FunctionCall) -> bool) -> Vec<Question> {
        let mut calls = self.function_calls().filter(|call| is_wanted(call)).peekable();
        if calls.peek().is_none() {
            return Vec::new();
        }
        let interrupts = self.interrupt_ids();
        calls.filter_map(|call| self.question(call, &interrupts)).collect()
    }

    fn question(&self, call: &FunctionCall, interrupts: &BTreeSet<&str>) -> Option<Question> {
        let args = call.args.as_ref();
        let argument = |name: &str| args?.get(name).filter(|value| !value.is_null());
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let function = call.name.as_deref().unwrap_or_default();
        let id = match function {
            REQUEST_INPUT if call.id.is_none() => argument("interruptId")?.as_str()?,
            _ => call.id.as_deref().filter(|id| interrupts.contains(id))?,
        };
        let whole = || args.cloned().map(Value::Object);
        // Only these two functions set a deadline and other terms. A tool may have arguments with the same names.
        let has_terms = matches!(function, REQUEST_INPUT | REQUEST_CONFIRMATION);
        let term = |name: &str| argument(name).filter(|_| has_terms);
        let (kind, message, payload) = match function {
            REQUEST_INPUT if id.starts_with(NODE_CONFIRMATION) => {
                (QuestionKind::Confirmation, argument("message"), argument("payload").cloned())
            }
            REQUEST_INPUT if id.starts_with(TIMER) => (QuestionKind::Timer, None, None),
            REQUEST_INPUT if id.starts_with(SIGNAL) => (QuestionKind::Signal, argument("message"), None),
            REQUEST_INPUT => (QuestionKind::UserInput, argument("message"), argument("payload").cloned()),
            REQUEST_CONFIRMATION => {
                let hint = argument("toolConfirmation").and_then(|confirmation| confirmation.get("hint"));
                (QuestionKind::Confirmation, hint, whole())
            }
            REQUEST_CREDENTIAL => (QuestionKind::Credential, argument("message"), argument("authConfig").cloned()),
            _ => (QuestionKind::LongRunning, None, whole()),
        };
        Some(Question {
            id: id.to_owned(),
            kind,
            function: function.to_owned(),
            message: text(message),
            payload,
            response_schema: argument("response_schema").filter(|_| function == REQUEST_INPUT).cloned(),
            assignee: term("assignee")
                .and_then(Value::as_str)
                .filter(|assignee| !assignee.is_empty())
                .map(str::to_owned),
            deadline: term("deadline").and_then(Value::as_f64),
            default: term("default").cloned(),
            select: argument("select").filter(|_| function == REQUEST_INPUT).and_then(Value::as_str).map(str::to_owned),
            node_path: self.path().clone(),
            invocation_id: self.invocation_id().clone(),
            author: self.author().to_owned(),
            asked_at: self.timestamp(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Question, QuestionKind};
    use crate::{Content, Event, FunctionCall, Part, RequestInput};

    #[test]
    fn questions_are_read_back() {
        let schema = json!({"type": "integer"});
        let ask: RequestInput = RequestInput::ask("q", "How many?").with_schema(schema.clone()).assign_to("lead");
        let mut event = ask.into_event("q").with_node_path("wf@1/ask@1");
        event.set_invocation_id("i");
        event.set_author("wf");
        event.set_timestamp(1.5);
        let expected = Question {
            id: "q".into(),
            kind: QuestionKind::UserInput,
            function: "adk_request_input".into(),
            message: "How many?".into(),
            payload: None,
            response_schema: Some(schema),
            assignee: Some("lead".into()),
            deadline: None,
            default: None,
            select: None,
            node_path: "wf@1/ask@1".into(),
            invocation_id: "i".into(),
            author: "wf".into(),
            asked_at: 1.5,
        };
        let json = serde_json::to_value(&expected).unwrap();
        assert_eq!((&json["kind"], &json["node_path"]), (&json!("user_input"), &json!("wf@1/ask@1")));
        assert_eq!(serde_json::from_value::<Question>(json).unwrap(), expected);
        assert_eq!(event.questions(), [expected]);
        assert_eq!(Event::message("x").questions(), []);
    }

    #[test]
    fn questions_without_a_deadline_are_left_out() {
        let deadline = std::time::UNIX_EPOCH + std::time::Duration::from_secs(9);
        let timed = RequestInput::<Value>::ask("timed", "when?").with_deadline(deadline).into_event("timed");
        assert_eq!(timed.questions_with_deadline(), timed.questions());
        assert!(RequestInput::<Value>::ask("q", "why?").into_event("q").questions_with_deadline().is_empty());
        // A tool's argument with that name is not a deadline.
        let args = serde_json::Map::from_iter([("deadline".to_owned(), json!(9))]);
        let call = Part::function_call(FunctionCall::new("call", "ship", args));
        let mut tool = Event::from_author("agent").with_content(Content::new("model", [call]));
        tool.set_long_running_tool_ids(Some(["call".to_owned()].into()));
        assert_eq!((tool.questions().len(), tool.questions_with_deadline().len()), (1, 0));
    }

    fn check(function: &str, id: &str, args: Value, asked: Option<(QuestionKind, &str, Value)>) {
        let call = FunctionCall::new(id, function, args.as_object().unwrap().clone());
        let call = Content::new("model", [Part::function_call(call)]);
        let event =
            Event::from_author("a").with_content(call).with_long_running(["l", "q", "wf_tool_confirmation:w@1"]);
        let found = event.questions().pop().map(|q| (q.kind, q.message, q.payload.unwrap_or_default()));
        assert_eq!(found, asked.map(|(kind, message, payload)| (kind, message.to_owned(), payload)), "{function} {id}");
    }

    // R129, R130, R141, R940
    #[test]
    fn every_kind_of_question_is_recognised() {
        use QuestionKind::{Confirmation, Credential, LongRunning, UserInput};
        let input = json!({"message": "m", "payload": 1, "response_schema": null});
        check("adk_request_input", "q", input.clone(), Some((UserInput, "m", json!(1))));
        check("adk_request_input", "wf_tool_confirmation:w@1", input, Some((Confirmation, "m", json!(1))));
        let confirm = json!({"originalFunctionCall": {"name": "pay"}, "toolConfirmation": {"hint": "h"}});
        check("adk_request_confirmation", "l", confirm.clone(), Some((Confirmation, "h", confirm)));
        let auth = json!({"functionCallId": "f", "authConfig": {"credentialKey": "k"}, "message": "m"});
        check("adk_request_credential", "l", auth.clone(), Some((Credential, "m", json!({"credentialKey": "k"}))));
        // A model that calls a reserved function asks nothing.
        check("adk_request_credential", "any", auth, None);
        check("adk_request_input", "any", json!({}), None);
        check("ship", "l", json!({"n": 1}), Some((LongRunning, "", json!({"n": 1}))));
        check("ship", "other", json!({"n": 1}), None);
    }
}
