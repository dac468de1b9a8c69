//! [`Operation`]: the operations of a session service.

use std::fmt;

#[cfg(doc)]
use pleach_session::SessionService;

/// An operation of a [`SessionService`]. Some include two calls, which are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// [`SessionService::create_session`].
    CreateSession,
    /// [`SessionService::get_session`].
    GetSession,
    /// [`SessionService::events_since`] and [`SessionService::head_behind`].
    EventsSince,
    /// [`SessionService::append`], of complete events.
    Append,
    /// [`SessionService::claim`].
    Claim,
    /// [`SessionService::check_head`]. A run calls it before a step, unless it has just claimed the session.
    CheckHead,
    /// [`SessionService::note_settled`]. A Runner calls it for sessions that it has checked and that need nothing.
    NoteSettled,
    /// [`SessionService::redact_event`].
    Redact,
    /// [`SessionService::list_sessions`] and [`SessionService::list_apps`].
    ListSessions,
    /// [`SessionService::list_questions`].
    ListQuestions,
    /// [`SessionService::new_deadlines`].
    NewDeadlines,
    /// [`SessionService::find_sessions`].
    FindSessions,
    /// [`SessionService::delete_session`].
    DeleteSession,
    /// [`SessionService::user_state`] and [`SessionService::app_state`].
    State,
    /// [`SessionService::health_check`].
    HealthCheck,
    /// [`SessionService::flush`].
    Flush,
    /// [`SessionService::close`].
    Close,
}

impl Operation {
    /// Returns true if the operation changes stored data.
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::CreateSession | Self::Append | Self::Claim | Self::Redact | Self::DeleteSession)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CreateSession => "create_session",
            Self::GetSession => "get_session",
            Self::EventsSince => "events_since",
            Self::Append => "append",
            Self::Claim => "claim",
            Self::CheckHead => "check_head",
            Self::NoteSettled => "note_settled",
            Self::Redact => "redact_event",
            Self::ListSessions => "list_sessions",
            Self::ListQuestions => "list_questions",
            Self::NewDeadlines => "new_deadlines",
            Self::FindSessions => "find_sessions",
            Self::DeleteSession => "delete_session",
            Self::State => "user_state or app_state",
            Self::HealthCheck => "health_check",
            Self::Flush => "flush",
            Self::Close => "close",
        })
    }
}
