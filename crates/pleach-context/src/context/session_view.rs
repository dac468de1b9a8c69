//! [`SessionView`]: the session as node code sees it.

use std::fmt;
use std::sync::Arc;

use pleach_core::{AppName, Event, Map, Session, SessionId, SessionKey, UserId};

use super::Context;

/// A read-only view of the session that a run belongs to.
///
/// ADK: `Context.session`
#[derive(Clone, Copy)]
pub struct SessionView<'a> {
    ctx: &'a Context,
}

impl<'a> SessionView<'a> {
    /// Returns the session's key: app, user and id.
    #[must_use]
    pub fn key(&self) -> &'a SessionKey {
        self.ctx.invocation().session_key()
    }

    /// Returns the session's id.
    #[must_use]
    pub fn id(&self) -> &'a SessionId {
        &self.key().session_id
    }

    /// Returns the app's name.
    #[must_use]
    pub fn app_name(&self) -> &'a AppName {
        &self.key().app_name
    }

    /// Returns the user's id.
    #[must_use]
    pub fn user_id(&self) -> &'a UserId {
        &self.key().user_id
    }

    /// Returns a copy of the merged state, including this run's pending changes.
    #[must_use]
    pub fn state(&self) -> Map {
        self.ctx.state().to_map()
    }

    /// Returns the session's events: those loaded at the start of the invocation and those stored since. The events
    /// themselves are shared.
    #[must_use]
    pub fn events(&self) -> Vec<Arc<Event>> {
        self.ctx.invocation().events()
    }

    /// Returns a copy of this view as a `Session`, for services that take one, and for [`Key::of`](crate::Key::of).
    #[must_use]
    pub fn to_session(&self) -> Session {
        let mut session = Session::from_parts(self.key().clone(), self.state(), self.events(), self.last_update_time());
        session.unreadable.clone_from(self.ctx.invocation().unreadable_keys());
        session
    }

    /// Returns when the session was last changed, as far as this invocation knows, in seconds since the epoch.
    #[must_use]
    pub fn last_update_time(&self) -> f64 {
        self.ctx.invocation().last_update_time()
    }
}

impl From<SessionView<'_>> for Session {
    fn from(view: SessionView<'_>) -> Self {
        view.to_session()
    }
}

impl fmt::Debug for SessionView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionView").field(self.key()).finish()
    }
}

impl Context {
    /// Returns a read-only view of the session.
    #[must_use]
    pub fn session(&self) -> SessionView<'_> {
        SessionView { ctx: self }
    }
}
