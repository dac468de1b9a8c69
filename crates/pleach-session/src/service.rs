//! The session service trait.

use std::fmt;
use std::sync::Arc;

use foldhash::HashSet;
use pleach_core::{AppName, BoxFuture, Event, EventId, Map, Session, SessionHead, SessionId, SessionKey, UserId};

use crate::{
    CreateSession, GetSessionConfig, InboxItem, ListQuestions, ListQuestionsResponse, ListSessions,
    ListSessionsResponse, LogPlace, NewDeadlines, QuestionCursor, SessionError, SessionResult, Since, asked_questions,
    report_fault,
};

/// Stores sessions and their events. ADK: `BaseSessionService`.
///
/// Every operation is cancel safe: if its future is dropped, the operation takes effect as a whole or not at all.
///
/// # Example
/// ```
/// # use pleach_core::{Event, SessionKey};
/// # use pleach_session::{CreateSession, SessionResult, SessionService, SessionServiceExt as _};
/// async fn greet(sessions: &dyn SessionService) -> SessionResult<usize> {
///     let mut session = sessions.create_session(CreateSession::new("shop", "ana").with_session_id("session-1")).await?;
///     sessions.append_event(&mut session, Event::message("hello").with_state("greeted", true)).await?;
///     let key = SessionKey::new("shop", "ana", "session-1");
///     let stored = sessions.get_session(&key, Default::default()).await?;
///     Ok(stored.map_or(0, |session| session.events.len()))
/// }
/// ```
pub trait SessionService: fmt::Debug + Send + Sync + 'static {
    /// Stores a new session and returns it with merged state and no events.
    ///
    /// # Errors
    /// `AlreadyExists` if the id is taken for this app and user; then nothing of the request's state is applied.
    /// `Unstorable` for a value that not every backend can hold.
    // S30
    fn create_session(&self, request: CreateSession) -> BoxFuture<'_, SessionResult<Session>>;

    /// Loads a session with merged state and the events that `config` selects, oldest first; `None` if there is no such
    /// session.
    ///
    /// A state value that cannot be read is left out, and its key is in [`Session::unreadable`].
    ///
    /// # Errors
    /// `Corrupt` if an event, the update time or a whole state cannot be read. The error names the session and, if
    /// one is at fault, the event.
    // S31
    fn get_session<'a>(
        &'a self,
        key: &'a SessionKey,
        config: GetSessionConfig,
    ) -> BoxFuture<'a, SessionResult<Option<Session>>>;

    /// Returns the changes since `head` was made; `None` if the session no longer exists.
    ///
    /// For an unchanged session this is one small query, however long its history. Otherwise only the new events are
    /// read and parsed. The state is the current merged view: other sessions may have changed `app:` and `user:` keys
    /// even if there is no new event.
    ///
    /// # Errors
    /// `Corrupt` if the stored data cannot be read.
    fn events_since<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<Option<Since>>>;

    /// Returns the head of a reader that has seen a session up to `event`, in the order of appends. With this head,
    /// [`events_since`](Self::events_since) returns the events that were appended after `event`.
    ///
    /// Returns `None` if there is no such event. Services whose [`get_session`](Self::get_session) returns events in
    /// the order of appends return `None` as well. A database returns them in the order of their times, which may
    /// differ.
    ///
    /// # Errors
    /// Only storage failures.
    fn head_behind<'a>(
        &'a self,
        key: &'a SessionKey,
        event: &'a EventId,
    ) -> BoxFuture<'a, SessionResult<Option<SessionHead>>> {
        let _ = (key, event);
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns the names of the apps that have sessions, in byte order.
    ///
    /// The default implementation fails, because it cannot list them. ADK has no such call.
    ///
    /// # Errors
    /// `Unsupported` if the service cannot list apps.
    fn list_apps(&self) -> BoxFuture<'_, SessionResult<Vec<AppName>>> {
        let (what, reason) =
            ("a list of apps".to_owned(), "this session service cannot list its apps: name the app".to_owned());
        Box::pin(std::future::ready(Err(SessionError::Unsupported { what, reason })))
    }

    /// Lists sessions without events, oldest update first. They have their merged state unless the request leaves it
    /// out.
    ///
    /// Each session is read independently of the others. If its state or update time cannot be read, the session is
    /// listed with everything that can be read. Its fault is in [`faults`](ListSessionsResponse::faults). An update
    /// time that cannot be read is listed as 0.
    ///
    /// # Errors
    /// Only storage failures.
    // S32
    fn list_sessions(&self, request: ListSessions) -> BoxFuture<'_, SessionResult<ListSessionsResponse>>;

    /// Lists the open questions of the app's sessions, in the order they were asked: see
    /// [`open_questions`](crate::open_questions).
    ///
    /// The result includes everything appended before the call, and may include concurrent appends. The default
    /// implementation loads every session, so its time grows with their histories. A service should keep a projection
    /// instead, as the services of pleach do.
    ///
    /// Sessions with events that cannot be read are left out, and a warning is logged for each.
    ///
    /// # Errors
    /// Only storage failures.
    fn list_questions(&self, request: ListQuestions) -> BoxFuture<'_, SessionResult<ListQuestionsResponse>> {
        Box::pin(async move { walk_questions(self, &request).await })
    }

    /// Returns the questions with a deadline that the app's sessions have asked since a place in the log. Also
    /// returns the place up to which the service has searched. A call without `since` is made to get a place; it may
    /// also return some of the newest questions. Each question is returned at least once, even if it has since been
    /// answered.
    ///
    /// A process that answers questions at their deadlines calls this every second, and
    /// [`list_questions`](Self::list_questions) now and then. The cost depends on what was appended since the last call
    /// or in the last minute, not on the number of sessions or questions. The call writes nothing. `now` is the
    /// caller's clock, in seconds since the epoch.
    ///
    /// Returns `None` if the service cannot find these questions; the caller then lists all questions. The default
    /// implementation always returns `None`.
    ///
    /// # Errors
    /// `Corrupt` if the stored data cannot be read.
    fn new_deadlines<'a>(
        &'a self,
        app_name: &'a AppName,
        since: Option<&'a LogPlace>,
        now: f64,
    ) -> BoxFuture<'a, SessionResult<Option<NewDeadlines>>> {
        let _ = (app_name, since, now);
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns the keys of all sessions of the app with this id, at most one per user, ordered by user.
    ///
    /// # Errors
    /// Only storage failures.
    fn find_sessions<'a>(
        &'a self,
        app_name: &'a AppName,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, SessionResult<Vec<SessionKey>>>;

    /// Removes a session and its events. App and user state stay. A missing session is not an error.
    ///
    /// After a session is deleted and created again with the same id, old heads are stale. In a database this fails
    /// only if both sessions were created in the same microsecond.
    ///
    /// # Errors
    /// Only storage failures.
    // S33
    fn delete_session<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, SessionResult<()>>;

    /// Stores one complete event under the fence of `head` (compare and append) and updates `head`.
    ///
    /// Returns the stored event, which has no `temp:` keys in its state delta. A partial event is returned unchanged
    /// and not stored. Appending an event that is already stored and equal in every field succeeds, so an append whose
    /// response was lost can be repeated; `head` then advances at most to the revision right after that event.
    ///
    /// The event's operations ([`EventActions::state_ops`](pleach_core::EventActions::state_ops)) are applied to the
    /// stored values in the transaction that stores the event, so concurrent writes are not lost. The results are
    /// stored and returned in the state delta, as plain values. If an event with operations is already stored, the
    /// operations are not compared and are not applied again.
    ///
    /// The caller sets the id. An event without a time gets the system's time, and its time is not compared. The
    /// parameter is an `Arc` because the log shares its events; an unshared event is edited in place.
    ///
    /// # Errors
    /// `NotFound` for a deleted session; `Stale` if someone else changed it since `head` was made;
    /// `EventAlreadyExists`; `Unstorable`; `StateOperation` if an operation does not fit the stored value. `head`
    /// changes only on success.
    ///
    /// # Cancel safety
    /// When the future is dropped, the event is stored whole or not at all, and `head` is unchanged.
    // S34, S35
    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, SessionResult<Arc<Event>>>;

    /// Advances the session's revision without storing an event, under the fence of `head`, and updates `head`. Older
    /// heads become stale.
    ///
    /// A writer claims a session before it does work whose result it appends later. If several writers have the same
    /// head, exactly one of them succeeds, and the others fail before they have done anything. The claim changes only
    /// the session's update time, which other programs see as an ordinary change.
    ///
    /// `time` is the caller's clock, in seconds since the epoch. If it is not later than the last update, or if an
    /// event has that time, the update time becomes the next free microsecond.
    ///
    /// The default implementation only compares, so several claims of one head succeed, and the first append wins.
    ///
    /// # Errors
    /// `NotFound` for a deleted session; `Stale` if the session was changed or claimed since `head` was made. This
    /// includes an earlier claim by the same caller whose response was lost. `head` changes only on success.
    ///
    /// # Cancel safety
    /// When the future is dropped, the claim is made or not, and `head` is unchanged.
    fn claim<'a>(&'a self, head: &'a mut SessionHead, time: f64) -> BoxFuture<'a, SessionResult<()>> {
        let _ = time;
        self.check_head(head)
    }

    /// Compares the session's revision with the revision of `head`, and changes nothing. A writer calls it before it
    /// begins work for which it has not claimed the session. Another writer may append right after the comparison.
    ///
    /// # Errors
    /// `NotFound` for a deleted session; `Stale` if the session was changed or claimed since `head` was made.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    fn check_head<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move {
            let key = || head.key().clone();
            let stored = match self.events_since(head).await?.ok_or_else(|| SessionError::NotFound(key()))? {
                Since::Events(session) => session.revision(),
                Since::Unknown => {
                    let now = self.get_session(head.key(), GetSessionConfig::recent(0)).await?;
                    now.ok_or_else(|| SessionError::NotFound(key()))?.revision()
                }
            };
            let ours = head.revision();
            if stored == ours { Ok(()) } else { Err(SessionError::Stale { key: key(), stored, ours }) }
        })
    }

    /// Notes that `program` has nothing to do for sessions as they are now, each at the revision of its head. Listings
    /// [for that program](ListSessions::unsettled_for) leave such a session out until its revision changes for any
    /// reason.
    ///
    /// A head that is not the newest one has no effect. Deleting a session deletes its notes. A service keeps the notes
    /// of the two programs that noted a session last, for example of an old and a new version during an upgrade.
    ///
    /// The default implementation keeps no notes, so its listings include all sessions. ADK has no such call.
    ///
    /// # Errors
    /// Only storage failures, and `ReadOnly`.
    ///
    /// # Cancel safety
    /// When the future is dropped, all of the sessions are noted or none.
    fn note_settled<'a>(&'a self, program: &'a str, heads: &'a [SessionHead]) -> BoxFuture<'a, SessionResult<()>> {
        let _ = (program, heads);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Replaces the stored event that has the id of `event`, under the fence of `head`, and updates `head`. The two
    /// events may differ only in what a redaction may change ([`Redaction`](crate::Redaction),
    /// [`check_redacted`](crate::check_redacted)). Older heads become stale, as after a [`claim`](Self::claim),
    /// including the head of a run in progress.
    ///
    /// Programs call [`SessionServiceExt::redact`](crate::SessionServiceExt::redact), which makes the redacted
    /// event. It also checks that the rest of the log does not need the removed values: for example, an answer must
    /// still close its question. This call compares only the event itself. The event keeps its place; states and
    /// files are not changed. Sessions that were loaded before keep the old values: load them again.
    ///
    /// `time` has the same meaning as in [`claim`](Self::claim), in seconds since the epoch. ADK has no such call.
    ///
    /// # Errors
    /// `Redaction` if there is no such event, or another value differs; `NotFound` for a deleted session; `Stale` if
    /// the session was changed or claimed since `head` was made; `Unstorable`; `Unsupported` if the service does not
    /// have this operation. `head` changes only on success.
    ///
    /// # Cancel safety
    /// When the future is dropped, the event is replaced whole or not at all, and `head` is unchanged.
    fn redact_event<'a>(
        &'a self,
        head: &'a mut SessionHead,
        event: Arc<Event>,
        time: f64,
    ) -> BoxFuture<'a, SessionResult<()>> {
        let _ = time;
        let what = format!("redacting event {} of session {}", event.id(), head.key());
        let reason = "this session service does not implement `redact_event`".to_owned();
        Box::pin(std::future::ready(Err(SessionError::Unsupported { what, reason })))
    }

    /// Loads the session for a redaction of `event`: with all its events, though only `event` is certain to have all
    /// its values. `None` if there is no such session.
    ///
    /// A service that keeps values elsewhere implements this, so that a lost value of another event does not prevent a
    /// redaction. The default is [`get_session`](Self::get_session). ADK has no such call.
    ///
    /// # Errors
    /// The errors of [`get_session`](Self::get_session).
    ///
    /// # Cancel safety
    /// The call only reads.
    fn session_to_redact<'a>(
        &'a self,
        key: &'a SessionKey,
        event: &'a EventId,
    ) -> BoxFuture<'a, SessionResult<Option<Session>>> {
        let _ = event;
        self.get_session(key, GetSessionConfig::all())
    }

    /// Returns the user's state across sessions, with keys without the `user:` prefix. ADK: `get_user_state`.
    ///
    /// # Errors
    /// `Corrupt` if the stored data cannot be read.
    // S38
    fn user_state<'a>(&'a self, app_name: &'a AppName, user_id: &'a UserId) -> BoxFuture<'a, SessionResult<Map>>;

    /// Returns the app's state across users and sessions, with keys without the `app:` prefix.
    ///
    /// # Errors
    /// `Corrupt` if the stored data cannot be read; `Unsupported` if the service does not have this operation.
    fn app_state<'a>(&'a self, app_name: &'a AppName) -> BoxFuture<'a, SessionResult<Map>> {
        let what = format!("reading the state of app {app_name} by itself");
        let reason = "this session service does not implement `app_state`; load a session to see it".to_owned();
        Box::pin(std::future::ready(Err(SessionError::Unsupported { what, reason })))
    }

    /// Checks that the storage responds.
    ///
    /// # Errors
    /// Only storage failures: `Unavailable` if the server is gone or the service is closed.
    fn health_check(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Waits until everything that was submitted before is stored.
    ///
    /// # Errors
    /// Only storage failures.
    fn flush(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Finishes pending work and releases files and connections. Later calls of a service that was closed fail as
    /// `Unavailable`.
    ///
    /// # Errors
    /// Only storage failures.
    fn close(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl<S: SessionService + ?Sized> SessionService for Arc<S> {
    crate::forward_session_service!(|this| **this; create_session, get_session, events_since, head_behind,
        list_apps, list_sessions, list_questions, new_deadlines, find_sessions, delete_session, append, claim,
        check_head, note_settled, redact_event, session_to_redact, user_state, app_state, health_check, flush, close);
}

/// The number of sessions that are listed at once.
const SESSIONS_PER_PAGE: usize = 100;

/// Lists open questions by loading every session, one after the other.
///
/// The time grows with the histories of all sessions. Backends with a projection fall back to this function if the
/// projection cannot be written. A session that cannot be read is left out, with a warning in the log.
///
/// # Errors
/// The errors of [`SessionService::list_sessions`] and [`SessionService::get_session`] that concern more than one
/// session.
///
/// # Cancel safety
/// The call only reads.
pub async fn walk_questions<S: SessionService + ?Sized>(
    sessions: &S,
    request: &ListQuestions,
) -> SessionResult<ListQuestionsResponse> {
    let mut wanted = ListSessions::new(request.app_name.clone()).with_limit(SESSIONS_PER_PAGE).without_state();
    wanted.user_id.clone_from(&request.user_id);
    let mut items = Vec::new();
    // A concurrent append moves a session to the end of the list: the session may be listed twice, but is never missed.
    let mut seen: HashSet<SessionKey> = HashSet::default();
    loop {
        let page = sessions.list_sessions(wanted.clone()).await?;
        for listed in page.sessions {
            if !seen.insert(listed.key().clone()) {
                continue;
            }
            let session = match sessions.get_session(listed.key(), GetSessionConfig::all()).await {
                Ok(Some(session)) => session,
                Ok(None) => continue,
                Err(error) if error.is_of_one_session() => {
                    report_fault(listed.key(), &error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let wanted = asked_questions(&session.events).into_iter().filter(|asked| request.wants(&asked.question));
            items.extend(wanted.map(|asked| {
                let cursor = QuestionCursor::new(session.key(), asked.question.asked_at, asked.place);
                (cursor, InboxItem { session: session.key().clone(), question: asked.question })
            }));
        }
        let Some(next) = page.next else { break };
        wanted = wanted.with_after(next);
    }
    Ok(ListQuestionsResponse::page(items, request))
}
