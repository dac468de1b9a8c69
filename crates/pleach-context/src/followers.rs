//! [`Followers`]: what shows those who follow a run something that is neither stored nor handed out.

use std::fmt;
use std::sync::OnceLock;

use pleach_core::Event;

use crate::engine::InvocationHandle;

/// Shows an event to those who follow the run.
type Show = Box<dyn Fn(Event) + Send + Sync>;

/// Those who follow the run of an invocation.
#[derive(Default)]
pub(crate) struct Followers(OnceLock<Show>);

impl InvocationHandle<'_> {
    /// Sets what shows events to those who follow the run; only the first call has an effect. For the Runner.
    pub fn set_followers(self, show: impl Fn(Event) + Send + Sync + 'static) {
        let _ = self.0.followers.0.set(Box::new(show));
    }

    /// Shows a partial event to those who follow the run, at once: while its node waits for something that takes long.
    pub fn show_followers(self, event: Event) {
        if let Some(show) = self.0.followers.0.get() {
            show(event);
        }
    }
}

impl fmt::Debug for Followers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Followers").finish_non_exhaustive()
    }
}
