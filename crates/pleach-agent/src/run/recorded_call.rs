//! [`RecordedCall`]: a call in the stored events of a run, and [`Question`]: what it asks before it is made.
// L112, L118

use pleach_context::engine::credential_key;
use pleach_core::{AuthConfig, Event, FunctionCall, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL};
use serde_json::Value;

use super::call_numbers::PendingCall;

/// A call of the last batch, or a long-running one of an earlier batch.
#[derive(Debug)]
pub(super) struct RecordedCall<'e> {
    pub(super) pending: PendingCall,
    pub(super) id: &'e str,
    pub(super) is_long_running: bool,
    /// The batch of calls that it belongs to, counted from 1.
    pub(super) batch: usize,
    pub(super) is_earlier: bool,
    pub(super) has_response: bool,
    pub(super) has_result: bool,
    /// Its response asks for a confirmation or a credential.
    pub(super) asks: bool,
    /// The key of the credential that it asks for.
    pub(super) key: Option<String>,
    /// What it has asked for before, and got: it needs all of that when it is made again.
    pub(super) given: Vec<Question<'e>>,
}

/// A request for a confirmation or a credential.
#[derive(Debug)]
pub(super) struct Question<'e> {
    pub(super) id: &'e str,
    /// The call that asks.
    pub(super) call: &'e str,
    /// The key of the credential.
    pub(super) key: Option<String>,
    pub(super) answer: Option<Value>,
    /// The user has said something else since.
    pub(super) is_passed_over: bool,
}

impl RecordedCall<'_> {
    /// Returns whether the call is long-running and has no result. One that asks first has not begun.
    pub(super) fn is_job(&self) -> bool {
        self.is_long_running && !self.has_result && !self.asks
    }

    /// Returns the call with all that it has asked for, the answer to `question` included.
    pub(super) fn answered(&self, question: &Question<'_>) -> PendingCall {
        self.with(self.given.iter().chain([question]))
    }

    /// Returns the call with what it has asked for before.
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
    /// Returns whether the agent waits for the answer.
    pub(super) fn is_open(&self) -> bool {
        self.answer.is_none() && !self.is_passed_over
    }

    /// Returns whether the call waits for the answer.
    pub(super) fn is_for(&self, call: &RecordedCall<'_>) -> bool {
        self.call == call.id || (self.key.is_some() && self.key == call.key)
    }

    /// Returns whether the answer is the credential that the call has asked for beside another one.
    // L118
    pub(super) fn gives_credential_to(&self, call: &RecordedCall<'_>) -> bool {
        self.answer.is_some() && self.call != call.id && self.is_for(call)
    }
}

/// The request that a call of an event makes; `None` for a call of a tool. A model may call the reserved functions, too: the event
/// does not list those calls as long-running, and they are calls of unknown functions.
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
