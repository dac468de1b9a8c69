//! [`ConfirmationRequest`]: a request to a person to approve a call of a tool.

use std::time::Duration;

use pleach_core::{Map, RequestInput, to_json};
use serde::Serialize;
use serde_json::{Value, json};

/// A request to a person to approve a call of a tool: the text, the person or role that is asked, and the outcome if no
/// one answers.
///
/// ```
/// # use std::time::Duration;
/// # use pleach_context::ConfirmationRequest;
/// let cents = 18_900;
/// let request = ConfirmationRequest::new(format!("Refund {cents} cents?"))
///     .assign_to("accounting")
///     .within(Duration::from_secs(3600));
/// # drop(request);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfirmationRequest {
    pub(crate) hint: String,
    pub(crate) payload: Option<Value>,
    /// The reason why the payload has no JSON form.
    pub(crate) payload_fault: Option<String>,
    assignee: Option<String>,
    within: Option<Duration>,
    default: bool,
}

/// The options of a question: the person or role that is asked, and the default answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfirmationTerms {
    assignee: Option<String>,
    /// Seconds since the epoch.
    deadline: Option<f64>,
    default: bool,
}

impl ConfirmationRequest {
    /// Makes a request with the text that the person reads.
    pub fn new(text: impl Into<String>) -> Self {
        Self { hint: text.into(), ..Self::default() }
    }

    /// Sets the data to show with the text: a value or a reference to one. The call fails if the value has no JSON
    /// form, for example because it contains NaN.
    #[must_use]
    pub fn with_payload(mut self, payload: impl Serialize) -> Self {
        match to_json(payload) {
            Ok(payload) => (self.payload, self.payload_fault) = (Some(payload), None),
            Err(fault) => (self.payload, self.payload_fault) = (None, Some(fault.to_string())),
        }
        self
    }

    /// Sets the person or role that is asked, as free text; see [`RequestInput::assign_to`].
    #[must_use]
    pub fn assign_to(mut self, assignee: impl Into<String>) -> Self {
        self.assignee = Some(assignee.into());
        self
    }

    /// Sets how long the person may take. After that the call is rejected, or approved with
    /// [`or_approve`](Self::or_approve).
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// Approves the call when the time set with [`within`](Self::within) has passed without an answer.
    #[must_use]
    pub fn or_approve(mut self) -> Self {
        self.default = true;
        self
    }

    /// Returns the options of the question besides its text. `now` is the time of the question, in seconds since the
    /// epoch.
    pub(crate) fn terms(&self, now: f64) -> ConfirmationTerms {
        let deadline = self.within.map(|time| now + time.as_secs_f64());
        ConfirmationTerms { assignee: self.assignee.clone(), deadline, default: self.default }
    }
}

impl ConfirmationTerms {
    /// Adds the options to the arguments of an agent's request.
    pub fn put_on(&self, args: &mut Map) {
        let answer = self.deadline.map(|_| self.answer());
        let members = [
            ("assignee", self.assignee.clone().map(Value::from)),
            ("deadline", self.deadline.map(Value::from)),
            ("default", answer),
        ];
        args.extend(members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }

    /// Adds the options to a node's question.
    #[must_use]
    pub fn put_on_question(&self, mut question: RequestInput) -> RequestInput {
        question.assignee.clone_from(&self.assignee);
        question.deadline = self.deadline;
        question.default = self.deadline.map(|_| self.answer());
        question
    }

    /// The answer at the deadline.
    fn answer(&self) -> Value {
        json!({ "confirmed": self.default })
    }
}
