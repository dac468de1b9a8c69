//! Headers that the program sets for all requests, or returns for each call.

use std::sync::Arc;

use pleach_context::{NodeError, ReadonlyContext};
use pleach_core::BoxFuture;
use pleach_http::{HeaderFault, Headers};

use crate::document::is_of_connection;

/// Returns the headers of a call.
pub(crate) type HeaderProvider =
    Arc<dyn Fn(ReadonlyContext) -> BoxFuture<'static, Result<Vec<(String, String)>, NodeError>> + Send + Sync>;

/// Sets a header of the program. It replaces a header of the same name.
///
/// # Errors
/// The reason why the header cannot be sent.
pub(crate) fn set_header(headers: &mut Headers, name: &str, value: &str) -> Result<(), &'static str> {
    if is_of_connection(name) || name.eq_ignore_ascii_case("content-type") {
        return Err("the request sets it itself");
    }
    headers.set(name, value).map_err(HeaderFault::reason)
}
