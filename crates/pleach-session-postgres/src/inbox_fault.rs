//! Classifying failed statements on the projection.

use pleach_session::{ProjectionError, ProjectionResult};

use crate::fault::{Server, Trouble};

/// Translates the error of a failed statement. Tables that are missing or cannot be written are reported to the
/// listing; other errors make it fail.
pub(crate) fn outcome<T>(error: sqlx::Error, server: &Server) -> Result<ProjectionResult<T>, Trouble> {
    let code = error.as_database_error().and_then(|error| error.code());
    match code.as_deref() {
        // No such table, no such column, no such constraint.
        Some("42P01" | "42703" | "42P10") => Ok(Err(ProjectionError::Missing)),
        // No privilege, or a server that is read-only.
        Some("42501" | "25006") => {
            drop(code);
            Ok(Err(ProjectionError::Unwritable(server.fault(error))))
        }
        _ => {
            drop(code);
            Err(error.into())
        }
    }
}
