//! [`Context::idempotency_key`]: a key with which a service recognises repeated requests.

use super::Context;
use crate::engine::stable_uuid;

impl Context {
    /// Returns a key for requests to services that recognise repeated requests. The key is the same on every attempt
    /// and resume of this run, and differs for every other run, tool call and step. In the closure of a
    /// [step](Context::step) it is the key of the step.
    ///
    /// The key is a UUID in text form, such as `3f2a…-8…`. It is derived from the app, the user, the session, the
    /// invocation, the path of the run and the tool call. A fork of the session has other keys.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        match self.current_step() {
            Some(step) => step.key_of_run(),
            None => self.key_of_run(),
        }
    }

    fn key_of_run(&self) -> String {
        let session = self.invocation().session_key();
        let call = self.call_key();
        let parts = [
            session.app_name.as_str(),
            session.user_id.as_str(),
            session.session_id.as_str(),
            self.invocation_id(),
            self.node_path().as_str(),
            &call,
        ];
        stable_uuid(parts).to_string()
    }
}
