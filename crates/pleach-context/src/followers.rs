//! [`Followers`]: a way to show an event to the followers of a run without storing it or passing it to the caller.

use std::fmt;
use std::sync::{Arc, OnceLock};

use pleach_core::Event;

/// The function that shows an event to the followers of an invocation's run.
#[derive(Default)]
pub(crate) struct Followers(pub(crate) OnceLock<Box<dyn Fn(Arc<Event>) + Send + Sync>>);

impl fmt::Debug for Followers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Followers")
    }
}
