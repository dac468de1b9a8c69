//! Recently asked questions with a deadline, which a process that answers questions at their deadlines polls for.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use pleach_core::{Event, SessionKey};

use super::InboxItem;

/// How far a session service has looked for new deadlines. Only the service that made a place can read it.
#[derive(Clone)]
pub struct LogPlace(Arc<dyn Any + Send + Sync>);

impl LogPlace {
    /// Wraps a place, in the service's own type.
    pub fn new(place: impl Any + Send + Sync) -> Self {
        Self(Arc::new(place))
    }

    /// Returns the place if it has this type.
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
    /// Questions with a deadline, which may have been closed meanwhile.
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
