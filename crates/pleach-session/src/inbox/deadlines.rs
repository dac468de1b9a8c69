//! Types for polling for new questions with a deadline, which a process needs to answer them in time.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use pleach_core::{Event, SessionKey};

use super::InboxItem;

/// The position in the log up to which a session service has searched for new deadlines. Only the service that
/// created it can read it.
#[derive(Clone)]
pub struct LogPlace(Arc<dyn Any + Send + Sync>);

impl LogPlace {
    /// Wraps a position of any type that the service chooses.
    pub fn new(place: impl Any + Send + Sync) -> Self {
        Self(Arc::new(place))
    }

    /// Returns the position if it has this type.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for LogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogPlace")
    }
}

/// The result of [`SessionService::new_deadlines`](crate::SessionService::new_deadlines).
#[derive(Clone, Debug)]
pub struct NewDeadlines {
    /// Questions with a deadline. Some may have been closed since they were asked.
    pub items: Vec<InboxItem>,
    /// The place where the next call continues.
    pub place: LogPlace,
}

impl NewDeadlines {
    /// Returns the questions with a deadline that an event asks.
    pub fn of_event<'a>(session: &'a SessionKey, event: &Event) -> impl Iterator<Item = InboxItem> + use<'a> {
        let asked = event.questions_with_deadline().into_iter();
        asked.map(|question| InboxItem { session: session.clone(), question })
    }
}
