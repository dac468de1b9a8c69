//! The requests and responses of a session service.

use pleach_core::{AppName, Map, Session, SessionId, UserId};
use serde::{Deserialize, Serialize};

use crate::SessionFault;

/// A request for a new session. ADK: `BaseSessionService.create_session`.
#[derive(Clone, Debug)]
pub struct CreateSession {
    /// The app that the session belongs to.
    pub app_name: AppName,
    /// The user that the session belongs to.
    pub user_id: UserId,
    /// The initial state with its scope prefixes; `temp:` keys are dropped.
    // S13
    pub state: Map,
    /// The requested id; the service generates a UUID if it is absent or blank.
    // S30
    pub session_id: Option<SessionId>,
    /// The creation time in seconds since the epoch; the system's time if absent.
    pub create_time: Option<f64>,
}

impl CreateSession {
    /// Creates a request for a session of `user_id` in `app_name` with an empty state and a generated id.
    pub fn new(app_name: impl Into<AppName>, user_id: impl Into<UserId>) -> Self {
        Self {
            app_name: app_name.into(),
            user_id: user_id.into(),
            state: Map::new(),
            session_id: None,
            create_time: None,
        }
    }

    /// Sets the initial state.
    pub fn with_state(mut self, state: Map) -> Self {
        self.state = state;
        self
    }

    /// Sets the session id.
    pub fn with_session_id(mut self, id: impl Into<SessionId>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// Sets the creation time, in seconds since the epoch.
    pub fn with_create_time(mut self, seconds: f64) -> Self {
        self.create_time = Some(seconds);
        self
    }
}

/// The events that [`get_session`](crate::SessionService::get_session) returns; the default is all of them.
/// ADK: `GetSessionConfig`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GetSessionConfig {
    /// The largest number of events, counted from the newest. `Some(0)` returns no events, but the full state.
    pub num_recent_events: Option<usize>,
    /// The earliest time of the events, in seconds since the epoch.
    pub after_timestamp: Option<f64>,
}

impl GetSessionConfig {
    /// Selects all events.
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects the newest `count` events.
    pub fn recent(count: usize) -> Self {
        Self { num_recent_events: Some(count), ..Self::default() }
    }

    /// Selects the events at or after `seconds` since the epoch.
    pub fn after(seconds: f64) -> Self {
        Self { after_timestamp: Some(seconds), ..Self::default() }
    }

    /// Limits the selection to the newest `count` events.
    pub fn with_recent(mut self, count: usize) -> Self {
        self.num_recent_events = Some(count);
        self
    }
}

/// A request for the sessions of an app, least recently updated first. ADK: `BaseSessionService.list_sessions`.
// S32
#[derive(Clone, Debug)]
pub struct ListSessions {
    /// The app whose sessions are listed.
    pub app_name: AppName,
    /// The user whose sessions are listed; `None` for every user. The empty string is a user like any other.
    pub user_id: Option<UserId>,
    /// The position after which the list starts: the `next` of the previous page.
    pub after: Option<ListCursor>,
    /// The largest number of sessions to list; `None` for all.
    pub limit: Option<usize>,
    /// Whether the sessions have their merged state; `true` in ADK. If `false`, states, which may be large, are not
    /// read.
    pub with_state: bool,
    /// Leaves out the sessions that this program has [noted](crate::SessionService::note_settled) at their current
    /// revision. A service that keeps no notes lists all sessions.
    pub unsettled_for: Option<String>,
}

impl ListSessions {
    /// Requests every session of the app.
    pub fn new(app_name: impl Into<AppName>) -> Self {
        let app_name = app_name.into();
        Self { app_name, user_id: None, after: None, limit: None, with_state: true, unsettled_for: None }
    }

    /// Leaves out the sessions that need nothing according to the notes of `program`: see
    /// [`unsettled_for`](Self::unsettled_for).
    pub fn unsettled_for(mut self, program: impl Into<String>) -> Self {
        self.unsettled_for = Some(program.into());
        self
    }

    /// Leaves the states out, so that the sessions have empty ones. See [`with_state`](Self::with_state).
    pub fn without_state(mut self) -> Self {
        self.with_state = false;
        self
    }

    /// Lists only this user's sessions.
    pub fn with_user(mut self, user_id: impl Into<UserId>) -> Self {
        self.user_id = Some(user_id.into());
        self
    }

    /// Continues after `cursor`.
    pub fn with_after(mut self, cursor: ListCursor) -> Self {
        self.after = Some(cursor);
        self
    }

    /// Returns at most `limit` sessions.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }
}

/// A position in the order of [`ListSessions`]: update time, then user, then id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListCursor {
    /// The session's last update, in seconds since the epoch.
    pub update_time: f64,
    /// The session's user.
    pub user_id: UserId,
    /// The session's id.
    pub session_id: SessionId,
}

impl ListCursor {
    /// Compares two positions: by time of the last update, user, id.
    // S32
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        self.update_time
            .total_cmp(&other.update_time)
            .then_with(|| self.user_id.cmp(&other.user_id))
            .then_with(|| self.session_id.cmp(&other.session_id))
    }

    /// Sorts `items` by position, drops those up to `after` and keeps `limit`. The second value is the cursor of the
    /// next page, if there is one.
    ///
    /// The backends share this; they differ only in the source of the positions.
    pub fn page<T>(
        mut items: Vec<(Self, T)>,
        after: Option<&Self>,
        limit: Option<usize>,
    ) -> (Vec<(Self, T)>, Option<Self>) {
        let order = |(left, _): &(Self, T), (right, _): &(Self, T)| left.order(right);
        if let Some(after) = after {
            items.retain(|(place, _)| place.order(after).is_gt());
        }
        let limit = limit.unwrap_or(usize::MAX);
        let more = items.len() > limit;
        if more {
            // Only the page needs sorting.
            items.select_nth_unstable_by(limit, order);
            items.truncate(limit);
        }
        items.sort_by(order);
        let next = if more { items.last().map(|(place, _)| place.clone()) } else { None };
        (items, next)
    }
}

/// The sessions that were found, without their events. ADK: `ListSessionsResponse`.
// S4
#[derive(Clone, Debug, Default)]
pub struct ListSessionsResponse {
    /// Sessions with merged state and no events.
    pub sessions: Vec<Session>,
    /// The start of the next page; `None` on the last page, and if the limit is zero.
    pub next: Option<ListCursor>,
    /// The reasons why some of these sessions cannot be loaded. Single keys that cannot be read are in
    /// [`Session::unreadable`].
    pub faults: Vec<SessionFault>,
}
