//! Gates of function nodes: a person approves the call or a client sends a credential before the body runs.
// R510, R511

use std::sync::Arc;

use pleach_context::engine::{RunHandle, credential_question};
use pleach_context::{Context, NodeError, NodeInput, NodeSpec, Yield};
use pleach_core::{AuthConfig, Event, Map, ToolConfirmation};

use crate::approval::{confirmation_question, credential_id, rejected, take_confirmation, take_credential};

/// Decides whether a call needs a confirmation.
pub(crate) type Condition = Arc<dyn Fn(&Context, &NodeInput) -> bool + Send + Sync>;

/// The gates before the body of a node.
#[derive(Clone, Default)]
pub(super) struct Gates {
    pub(super) confirm: Option<Condition>,
    pub(super) auth: Option<Arc<AuthConfig>>,
}

/// The decision of the gates about a run.
pub(super) enum Passage {
    /// The body runs; `resumed` is true after an answer.
    Open { resumed: bool },
    /// The body does not run; the run yields a question, or the result of a rejected call.
    Closed(Yield),
}

impl Gates {
    pub(super) fn is_empty(&self) -> bool {
        self.confirm.is_none() && self.auth.is_none()
    }

    /// Decides whether the body may run: first the confirmation, then the credential.
    ///
    /// # Errors
    /// An answer that is not a confirmation or credential; a config that cannot be requested.
    pub(super) fn pass(&self, spec: &NodeSpec, handle: &RunHandle, input: &NodeInput) -> Result<Passage, NodeError> {
        let mut resumed = false;
        if let Some(condition) = &self.confirm {
            match take_confirmation(handle)? {
                Some(answer) if answer.confirmed => resumed = true,
                Some(_) => return Ok(Passage::Closed(Yield::Unchecked(Box::new(Event::of(rejected()))))),
                None if condition(handle, input) => {
                    let asked = ToolConfirmation::default();
                    let question = confirmation_question(handle, &spec.name, bound(spec, handle, input), asked);
                    return Ok(Passage::Closed(Yield::Ask(Box::new(question))));
                }
                None => {}
            }
        }
        if let Some(config) = &self.auth {
            if take_credential(handle, Some(config))? {
                resumed = true;
            } else if handle.get_auth_response(config).is_none() {
                return Ok(Passage::Closed(Yield::from(credential_question(handle, config, &credential_id(handle))?)));
            }
        }
        Ok(Passage::Open { resumed })
    }
}

/// Returns the arguments that the question shows: the node's input and its declared state.
fn bound(spec: &NodeSpec, handle: &RunHandle, input: &NodeInput) -> Map {
    // `temp:` values are never stored, so a question must not show them.
    let state = spec.state_params.iter().filter(|key| !key.starts_with("temp:"));
    let mut args: Map = state.filter_map(|key| Some((key.to_string(), handle.state().value(key)?))).collect();
    args.insert("node_input".to_owned(), input.to_value());
    args
}
