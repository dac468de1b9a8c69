//! Finds the Runner with which the inspector starts and continues runs of an app.

use pleach_runner::Runner;

use crate::api::Api;
use crate::error::ApiError;
use crate::inspection::Inspection;

/// Returns the Runner for runs that the inspector starts or continues; `None` if the app is not served or the inspector
/// is read-only.
pub(super) fn mover<'a>(api: &'a Api, app: &str) -> Option<&'a Runner> {
    api.runners.get(app).filter(|_| api.inspection == Inspection::Full)
}

/// Returns the Runner for runs that the inspector starts or continues.
///
/// # Errors
/// 403 if there is none.
pub(super) fn require_mover<'a>(api: &'a Api, app: &str) -> Result<&'a Runner, ApiError> {
    if api.inspection == Inspection::ReadOnly {
        return Err(ApiError::forbidden("This inspector is read-only: it has no program that could run the session."));
    }
    let missing =
        || ApiError::forbidden(format!("The server does not serve the app {app:?}, so its sessions are read-only."));
    mover(api, app).ok_or_else(missing)
}
