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
    pub(super) is_earlier: bool,
    pub(super) has_response: bool,
    pub(super) has_result: bool,
    /// Its response asks for a confirmation or a credential.
    pub(super) asks: bool,
    /// The key of the credential that it asks for.
    pub(super) key: Option<String>,
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
}

impl RecordedCall<'_> {
    pub(super) fn answered(&self, question: &Question<'_>) -> PendingCall {
        PendingCall {
            confirmation: question.answer.clone().filter(|_| question.key.is_none()),
            credential: question.key.as_ref().map(|_| question.id.to_owned()),
            ..self.pending.clone()
        }
    }
}

impl Question<'_> {
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
    Some(Question { id, call, key, answer: None })
}
