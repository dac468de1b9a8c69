//! [`Followers`]: what shows those who follow a run something that is neither stored nor handed out.

use std::fmt;
use std::sync::OnceLock;

use pleach_core::Event;

/// Those who follow the run of an invocation: what shows them an event.
#[derive(Default)]
pub(crate) struct Followers(pub(crate) OnceLock<Box<dyn Fn(Event) + Send + Sync>>);

impl fmt::Debug for Followers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Followers")
    }
}
