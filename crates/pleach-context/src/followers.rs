//! [`Followers`]: a way to show those who follow a run an event that is neither stored nor handed out.

use std::fmt;
use std::sync::{Arc, OnceLock};

use pleach_core::Event;

/// The function that shows an event to those who follow the run of an invocation.
#[derive(Default)]
pub(crate) struct Followers(pub(crate) OnceLock<Box<dyn Fn(Arc<Event>) + Send + Sync>>);

impl fmt::Debug for Followers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Followers")
    }
}
