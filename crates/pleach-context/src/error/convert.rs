//! Errors of the crates below, as node errors: they keep their class and text.

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
        Self::new(error.code(), error.to_string())
    }
}

impl From<AuthError> for NodeError {
    fn from(error: AuthError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
