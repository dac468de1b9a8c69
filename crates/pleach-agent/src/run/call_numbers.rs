//! [`CallNumbers`]: the numbers of an agent's calls, by which what they run is found again on a resume.
// L199

use foldhash::HashMap;

use pleach_core::FunctionCall;
use serde_json::Value;

use crate::call_ids::run_id;
use crate::guidance::{FINISH_TASK, SET_MODEL_RESPONSE, TRANSFER_TO_AGENT};

/// A call that is to be executed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingCall {
    pub(crate) call: FunctionCall,
    /// The answer to the request for its confirmation.
    pub(crate) confirmation: Option<Value>,
    /// Its question is stored, but not the response that holds its place.
    pub(crate) is_asked: bool,
    /// The response that holds its place is stored, but not its question.
    pub(crate) is_placed: bool,
    /// It ends the task of an agent that delegates another task with the same response.
    pub(crate) is_refused: bool,
    /// The ids under which it has asked for credentials that have come.
    pub(crate) credentials: Vec<String>,
    /// How many calls of the function the run has made, this one included.
    pub(crate) ordinal: u32,
    /// A name for what the call runs: its id, made unique in the run and safe for paths.
    pub(crate) key: String,
    /// The run has made no call before.
    pub(crate) is_first: bool,
}

impl PendingCall {
    /// Returns whether the call transfers, answers or ends the agent's task.
    pub(crate) fn ends_agent(&self) -> bool {
        matches!(self.call.name.as_deref(), Some(TRANSFER_TO_AGENT | SET_MODEL_RESPONSE | FINISH_TASK))
    }
}

/// Numbers the calls of a run, so that what they run is found again on a resume.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallNumbers {
    by_name: HashMap<String, u32>,
    by_id: HashMap<String, u32>,
}

impl CallNumbers {
    /// Numbers the next call.
    pub(crate) fn number(&mut self, call: &FunctionCall) -> PendingCall {
        let (id, name) = (run_id(call.id.as_deref().unwrap_or_default()), call.name.clone().unwrap_or_default());
        let is_first = self.by_name.is_empty();
        let ordinal = self.by_name.entry(name).or_default();
        *ordinal += 1;
        let repeated = self.by_id.entry(id.clone()).or_default();
        *repeated += 1;
        // Providers repeat ids, some of them numbers.
        let key = if *repeated == 1 { id } else { format!("{id}~{repeated}") };
        PendingCall {
            call: call.clone(),
            confirmation: None,
            is_asked: false,
            is_placed: false,
            is_refused: false,
            credentials: Vec::new(),
            ordinal: *ordinal,
            key,
            is_first,
        }
    }
}
