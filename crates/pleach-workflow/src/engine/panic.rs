//! Turns panics of user code into errors.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pleach_context::NodeError;

/// Runs user code and turns a panic into an error of the node.
pub(super) fn guarded<T>(code: impl FnOnce() -> T) -> Result<T, NodeError> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| panic_error("the node", &*panic))
}

/// Returns the error for a panic of `whose` code.
pub(crate) fn panic_error(whose: &str, panic: &(dyn Any + Send)) -> NodeError {
    NodeError::new("PanicError", format!("{whose} panicked: {}", panic_text(panic)))
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
