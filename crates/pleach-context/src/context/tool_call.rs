//! The methods for tool calls only: the id of the call, and requests for a confirmation or a credential.
// R220, R852

use pleach_auth::auth_request;
use pleach_core::{AuthConfig, DEEPEST, ToolConfirmation, nests_within};
use serde_json::Value;

use super::Context;
use crate::{ConfirmationRequest, NodeError};

/// The depth limit of a confirmation's payload: its question is a function call, and the payload is in its arguments.
const DEEPEST_PAYLOAD: usize = DEEPEST - 8;

impl Context {
    /// Asks the client for the credential of `config`. After the tool has returned, its call pauses until the
    /// credential arrives; then the tool runs again. The result of the first run is dropped.
    ///
    /// The client gets the config with everything that a sign-in needs, and without the agent's secrets. For OAuth2 and
    /// OpenID Connect the sign-in address is made here, with PKCE if the client has no secret.
    ///
    /// # Errors
    /// A `ValueError` outside a tool call, and for an OAuth2 config that lacks something a sign-in needs.
    ///
    /// ADK: `Context.request_credential`
    pub fn request_credential(&self, config: AuthConfig) -> Result<(), NodeError> {
        let id = self.tool_call("request_credential")?;
        self.check_change(&self.cell())?;
        let request = auth_request(&config, &*self.inner.invocation.services().ids)?;
        self.cell().lane.actions.requested_auth_configs_mut().insert(id, request);
        Ok(())
    }

    /// Asks a person to confirm the tool call. After the tool has returned, its call pauses until there is an answer.
    /// Then the tool runs again and reads the answer with [`tool_confirmation`](Context::tool_confirmation). The result
    /// of the first run is dropped.
    ///
    /// # Errors
    /// A `ValueError` outside a tool call, and for a payload that nests more than 119 levels deep.
    ///
    /// ADK: `Context.request_confirmation`
    pub fn request_confirmation(&self, hint: impl Into<String>, payload: Option<Value>) -> Result<(), NodeError> {
        let mut request = ConfirmationRequest::new(hint);
        request.payload = payload;
        self.request_confirmation_with(request)
    }

    /// Asks a person to confirm the tool call, with options such as the assignee and a time limit. See
    /// [`request_confirmation`](Self::request_confirmation).
    ///
    /// # Errors
    /// As [`request_confirmation`](Self::request_confirmation).
    pub fn request_confirmation_with(&self, request: ConfirmationRequest) -> Result<(), NodeError> {
        let id = self.tool_call("request_confirmation")?;
        self.check_change(&self.cell())?;
        if let Some(fault) = &request.payload_fault {
            return Err(NodeError::validation(format!("the payload of a confirmation has no JSON form: {fault}")));
        }
        if request.payload.as_ref().is_some_and(|payload| !nests_within(payload, DEEPEST_PAYLOAD)) {
            return Err(NodeError::value(format!(
                "the payload of a confirmation nests more than {DEEPEST_PAYLOAD} levels deep: flatten it, or pass it as a text"
            )));
        }
        let terms = request.terms(self.inner.invocation.services().clock.now());
        let confirmation = ToolConfirmation { hint: request.hint, confirmed: false, payload: request.payload };
        let mut cell = self.cell();
        cell.lane.actions.requested_tool_confirmations_mut().insert(id, confirmation);
        cell.lane.tool.get_or_insert_default().terms = Some(Box::new(terms));
        Ok(())
    }

    fn tool_call(&self, method: &str) -> Result<String, NodeError> {
        let id = self.function_call_id();
        id.ok_or_else(|| {
            NodeError::value(format!("{method} requires function_call_id: it is for tool calls only."))
                .with_hint("call it in the body of a tool; a node asks a person with `Context::ask`")
        })
    }

    /// The id of the tool call that this context belongs to.
    #[must_use]
    pub fn function_call_id(&self) -> Option<String> {
        self.cell().lane.tool.as_ref().and_then(|tool| tool.function_call_id.clone())
    }

    /// The client's answer to a request for confirmation.
    #[must_use]
    pub fn tool_confirmation(&self) -> Option<ToolConfirmation> {
        self.cell().lane.tool.as_ref().and_then(|tool| tool.confirmation.clone())
    }
}
