//! [`CallerRights`]: the additional rights of callers that are bound to a user.

use pleach_core::{Event, Map, Scope, StateRights};

use crate::caller::Caller;
use crate::error::ApiError;

/// The additional rights of callers that are bound to a user: what they may write apart from that user's own data. By
/// default they have none of these rights.
///
/// Callers that may act for everybody ([`Caller::Anyone`]) have all these rights. No client may write reserved keys:
/// see `docs/server.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallerRights {
    app_state: Right,
    other_apps: Right,
    initial_events: Right,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Right {
    #[default]
    Refused,
    Given,
}

impl Right {
    fn of(is_given: bool) -> Self {
        if is_given { Self::Given } else { Self::Refused }
    }
}

impl CallerRights {
    /// Returns no rights.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether such callers may change `app:` state, which all users of an app share.
    #[must_use]
    pub fn app_state(mut self, yes: bool) -> Self {
        self.app_state = Right::of(yes);
        self
    }

    /// Sets whether such callers may write sessions, artifacts and memories of apps that the server does not serve.
    #[must_use]
    pub fn other_apps(mut self, yes: bool) -> Self {
        self.other_apps = Right::of(yes);
        self
    }

    /// Sets whether such callers may create sessions with events. Such events can look like results of nodes and steps.
    #[must_use]
    pub fn initial_events(mut self, yes: bool) -> Self {
        self.initial_events = Right::of(yes);
        self
    }

    /// Returns the rights of a caller.
    pub(crate) fn of(self, caller: &Caller) -> Self {
        match caller {
            Caller::Anyone => Self { app_state: Right::Given, other_apps: Right::Given, initial_events: Right::Given },
            Caller::User(_) | Caller::Unknown => self,
        }
    }

    /// Returns the state keys that may be changed.
    pub(crate) fn state(self) -> StateRights {
        match self.app_state {
            Right::Given => StateRights::All,
            Right::Refused => StateRights::WithoutApp,
        }
    }

    pub(crate) fn may_write_other_apps(self) -> bool {
        self.other_apps == Right::Given
    }

    /// Checks the initial state of a new session.
    ///
    /// # Errors
    /// 403 with the first key that this caller may not change.
    pub(crate) fn check_initial_state(self, state: &Map) -> Result<(), ApiError> {
        let refused = state.iter().find_map(|(key, value)| self.state().refusal_of(key, value));
        refused.map_or(Ok(()), |refused| Err(refused.into()))
    }

    /// Checks that the keys of a scope do not replace stored values that this caller may not change.
    ///
    /// # Errors
    /// 403 with the first key.
    pub(crate) fn check_replaced(self, scope: Scope, state: &Map, stored: &Map) -> Result<(), ApiError> {
        let refused = state.keys().find_map(|key| {
            let (own, name) = Scope::split(key);
            let value = stored.get(name).filter(|_| own == scope)?;
            self.state().refusal_of(key, value)
        });
        refused.map_or(Ok(()), |refused| Err(refused.into()))
    }

    /// Checks that a new session may begin with these events.
    ///
    /// # Errors
    /// 403 if there are events and the caller may not send any.
    pub(crate) fn check_initial_events(self, events: &[Event]) -> Result<(), ApiError> {
        match self.initial_events {
            Right::Refused if !events.is_empty() => {
                Err(ApiError::forbidden("This caller may not create a session with events: leave `events` out."))
            }
            Right::Refused | Right::Given => Ok(()),
        }
    }
}
