//! [`Context::idempotency_key`].

use pleach_core::Uuid;
use sha2::{Digest, Sha256};

use super::Context;
use crate::engine::Engine as _;

impl Context {
    /// Returns a key for requests to services that recognise repeated ones: the same on every attempt and resume of this run,
    /// and another for every other run, tool call and step. In the closure of a [step](Context::step) it is the key of the step.
    ///
    /// A UUID in text form, such as `3f2a…-8…`, that follows from the app, the user, the session, the invocation, the path
    /// of the run and the tool call. A fork of the session has other keys.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        match self.current_step() {
            Some(step) => step.key_of_run(),
            None => self.key_of_run(),
        }
    }

    fn key_of_run(&self) -> String {
        let session = self.invocation().session_key();
        let call = self.engine().call_key();
        let parts = [
            session.app_name.as_str(),
            session.user_id.as_str(),
            session.session_id.as_str(),
            self.invocation_id(),
            self.node_path().as_str(),
            &call,
        ];
        let mut hash = Sha256::new();
        for part in parts {
            // The length keeps "a" + "bc" apart from "ab" + "c".
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.finalize()[..16]);
        uuid_v8(bytes).to_string()
    }
}

/// Returns a UUID of version 8, which RFC 9562 leaves to applications, with these bytes around version and variant.
fn uuid_v8(mut bytes: [u8; 16]) -> Uuid {
    bytes[6] = bytes[6] & 0x0F | 0x80;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Uuid::from_bytes(bytes)
}
