//! [`RecordedCall`]: a call in the stored events of a run. [`Question`]: a request that a call makes before it is
//! executed.
// L112, L118

use pleach_context::engine::credential_key;
use pleach_core::{AuthConfig, Event, FunctionCall, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL};
use serde_json::Value;

use super::call_numbers::PendingCall;

/// A call of the last batch, or a call of an earlier batch that still waits for its result or an answer.
#[derive(Debug)]
pub(super) struct RecordedCall<'e> {
    pub(super) pending: PendingCall,
    pub(super) id: &'e str,
    pub(super) is_long_running: bool,
    /// The number of the call's batch, counted from 1.
    pub(super) batch: usize,
    pub(super) is_earlier: bool,
    pub(super) has_response: bool,
    pub(super) has_result: bool,
    /// Whether the response of the call requests a confirmation or a credential.
    pub(super) asks: bool,
    /// The key of the requested credential.
    pub(super) key: Option<String>,
    /// The earlier questions of the call that have been answered. The call needs all their answers when it is
    /// executed again.
    pub(super) given: Vec<Question<'e>>,
}

/// A request for a confirmation or a credential.
#[derive(Debug)]
pub(super) struct Question<'e> {
    pub(super) id: &'e str,
    /// The id of the call that asks.
    pub(super) call: &'e str,
    /// The key of the requested credential; `None` for a confirmation.
    pub(super) key: Option<String>,
    pub(super) answer: Option<Value>,
    /// Whether the user has sent a message in place of an answer.
    pub(super) is_passed_over: bool,
}

impl RecordedCall<'_> {
    /// Returns `true` if the call is long-running, has begun and has no result. A call that has a question has not
    /// begun.
    pub(super) fn is_job(&self) -> bool {
        self.is_long_running && !self.has_result && !self.asks
    }

    /// Returns the call with the answers to its earlier questions and to `question`.
    pub(super) fn answered(&self, question: &Question<'_>) -> PendingCall {
        self.with(self.given.iter().chain([question]))
    }

    /// Returns the call with the answers to its earlier questions.
    pub(super) fn again(&self) -> PendingCall {
        self.with(self.given.iter())
    }

    fn with<'q>(&self, questions: impl Iterator<Item = &'q Question<'q>>) -> PendingCall {
        let mut pending = self.pending.clone();
        for question in questions {
            match question.key {
                // A later confirmation replaces an earlier one.
                None => pending.confirmation = question.answer.clone(),
                Some(_) => pending.credentials.push(question.id.to_owned()),
            }
        }
        pending
    }
}

impl Question<'_> {
    /// Returns `true` if the agent waits for the answer.
    pub(super) fn is_open(&self) -> bool {
        self.answer.is_none() && !self.is_passed_over
    }

    /// Returns `true` if the question concerns the call: the call asks it, or needs the same credential.
    pub(super) fn is_for(&self, call: &RecordedCall<'_>) -> bool {
        self.call == call.id || (self.key.is_some() && self.key == call.key)
    }

    /// Returns `true` if the answer to another call's question is the credential that this call needs as well.
    // L118
    pub(super) fn gives_credential_to(&self, call: &RecordedCall<'_>) -> bool {
        self.answer.is_some() && self.call != call.id && self.is_for(call)
    }
}

/// Returns the request that a call of an event makes; `None` if the call is a tool call.
///
/// A model may call the reserved functions as well. The event does not list these calls as long-running, so they are
/// treated as calls of unknown functions.
pub(super) fn question<'e>(event: &'e Event, call: &'e FunctionCall) -> Option<Question<'e>> {
    let id = call.id.as_deref().filter(|id| event.long_running_tool_ids().is_some_and(|ids| ids.contains(*id)))?;
    let args = call.args.as_ref();
    let (call, key) = match call.name.as_deref()? {
        REQUEST_CONFIRMATION => (args?.get("originalFunctionCall")?.get("id")?.as_str()?, None),
        REQUEST_CREDENTIAL => {
            let config = args?.get("authConfig").cloned().unwrap_or_default();
            (args?.get("functionCallId")?.as_str()?, Some(credential_key(&AuthConfig::new(config))))
        }
        _ => return None,
    };
    Some(Question { id, call, key, answer: None, is_passed_over: false })
}
