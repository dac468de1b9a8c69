//! [`CallNumbers`]: the numbers of an agent's calls. A resume finds the runs of the calls by these numbers.
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
    /// Whether the question of the call is stored, but not the placeholder response.
    pub(crate) is_asked: bool,
    /// Whether the placeholder response of the call is stored, but not the question.
    pub(crate) is_placed: bool,
    /// Whether the call is refused. A call that ends the agent's task is refused if the same response of the model also
    /// delegates a task.
    pub(crate) is_refused: bool,
    /// The ids of the call's credential requests that have been answered.
    pub(crate) credentials: Vec<String>,
    /// The number of calls of this function in the run, including this call.
    pub(crate) ordinal: u32,
    /// The name of runs that the call starts: the call's id, made unique in the run and safe for paths.
    pub(crate) key: String,
    /// Whether this is the first call of the run.
    pub(crate) is_first: bool,
}

impl PendingCall {
    /// Returns `true` if the agent ends with this call: the call transfers to another agent, returns the agent's
    /// answer, or ends the agent's task.
    pub(crate) fn ends_agent(&self) -> bool {
        matches!(self.call.name.as_deref(), Some(TRANSFER_TO_AGENT | SET_MODEL_RESPONSE | FINISH_TASK))
    }
}

/// Numbers the calls of a run, so that a resume finds the runs that they have started.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallNumbers {
    by_name: HashMap<String, u32>,
    by_id: HashMap<String, u32>,
}

impl CallNumbers {
    /// Assigns numbers to the next call.
    pub(crate) fn number(&mut self, call: &FunctionCall) -> PendingCall {
        let (id, name) = (run_id(call.id.as_deref().unwrap_or_default()), call.name.clone().unwrap_or_default());
        let is_first = self.by_name.is_empty();
        let ordinal = self.by_name.entry(name).or_default();
        *ordinal += 1;
        let repeated = self.by_id.entry(id.clone()).or_default();
        *repeated += 1;
        // Providers may use an id several times, and some ids are numbers.
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
