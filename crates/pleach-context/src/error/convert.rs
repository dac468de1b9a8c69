//! Converts errors of lower crates to node errors with the same class and text.

use pleach_auth::AuthError;
use pleach_schema::{CoerceError, SchemaError};

use crate::NodeError;

impl From<CoerceError> for NodeError {
    fn from(error: CoerceError) -> Self {
        Self::validation(error.to_string())
    }
}

impl From<SchemaError> for NodeError {
    fn from(error: SchemaError) -> Self {
        let node_error = Self::new(error.code(), error.to_string());
        match error {
            SchemaError::UndeclaredKey { .. } => node_error.with_hint("use one of them, or add the key to the schema"),
            _ => node_error,
        }
    }
}

impl From<AuthError> for NodeError {
    fn from(error: AuthError) -> Self {
        let node_error = Self::new(error.code(), error.to_string());
        match error {
            AuthError::EmptyScheme | AuthError::Incomplete { .. } | AuthError::NoEndpoint(_) => {
                node_error.with_hint("complete the `AuthConfig` of the node or tool")
            }
            AuthError::UnsupportedChallenge(_) => node_error.with_hint("leave `code_challenge_method` out"),
            // The error's own text says what to do.
            _ => node_error,
        }
    }
}
