//! [`FaultySessions`] as a session service: its calls pass a gate, which may hold them up or fail them.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use pleach_core::{AppName, BoxFuture, Event, EventId, Map, Session, SessionHead, SessionId, SessionKey, UserId};
use pleach_session::{
    CreateSession, GetSessionConfig, ListQuestions, ListQuestionsResponse, ListSessions, ListSessionsResponse,
    SessionError, SessionResult, SessionService, Since,
};

use crate::FaultySessions;
use crate::held_time::HeldTime;

/// An operation of a [`SessionService`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// [`SessionService::create_session`].
    CreateSession,
    /// [`SessionService::get_session`].
    GetSession,
    /// [`SessionService::events_since`].
    EventsSince,
    /// [`SessionService::append`], of complete events.
    Append,
    /// [`SessionService::claim`].
    Claim,
    /// [`SessionService::list_sessions`].
    ListSessions,
    /// [`SessionService::list_questions`].
    ListQuestions,
    /// [`SessionService::find_sessions`].
    FindSessions,
    /// [`SessionService::delete_session`].
    DeleteSession,
    /// [`SessionService::user_state`] and [`SessionService::app_state`].
    State,
}

impl Operation {
    /// Whether it changes what is stored.
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::CreateSession | Self::Append | Self::Claim | Self::DeleteSession)
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
            Self::ListSessions => "list_sessions",
            Self::ListQuestions => "list_questions",
            Self::FindSessions => "find_sessions",
            Self::DeleteSession => "delete_session",
            Self::State => "user_state or app_state",
        })
    }
}

/// A call that comes to a gate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) operation: Operation,
    /// The session, and the event of an append.
    pub(crate) append: Option<(&'a SessionKey, &'a Event)>,
}

/// What becomes of a call that a gate lets through.
#[derive(Debug)]
pub(crate) enum Pass {
    /// It is made; the number is the gate's. What it holds is dropped behind the call.
    Made(usize, Option<HeldTime>),
    /// It is made, and its answer gets lost.
    ReplyLost(SessionError),
    /// An append is not made, and answered as if it were.
    WriteLost,
}

/// Decides about calls.
pub(crate) trait Gate: fmt::Debug + Send + Sync + 'static {
    /// Before the call: an error is its answer.
    fn enter<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, SessionResult<Pass>>;

    /// Behind a call that was made, before its caller gets the answer.
    fn leave<'a>(&'a self, call: Call<'a>, number: usize, succeeded: bool) -> BoxFuture<'a, ()>;

    /// How many calls of an operation have come.
    fn calls(&self, operation: Operation) -> usize;

    /// How many faults have struck.
    fn faults(&self) -> usize;
}

impl FaultySessions {
    async fn pass<T>(&self, call: Call<'_>, made: impl Future<Output = SessionResult<T>> + Send) -> SessionResult<T> {
        match self.gate.enter(call).await? {
            Pass::Made(number, held) => {
                let result = made.await;
                drop(held);
                self.gate.leave(call, number, result.is_ok()).await;
                result
            }
            Pass::ReplyLost(error) => {
                made.await?;
                Err(error)
            }
            // Gates give it for appends only.
            Pass::WriteLost => made.await,
        }
    }

    async fn of<T>(
        &self,
        operation: Operation,
        made: impl Future<Output = SessionResult<T>> + Send,
    ) -> SessionResult<T> {
        self.pass(Call { operation, append: None }, made).await
    }

    async fn append_to(&self, head: &mut SessionHead, event: Arc<Event>) -> SessionResult<Arc<Event>> {
        if event.is_partial() {
            return self.inner.append(head, event).await;
        }
        let key = head.shared_key().clone();
        let call = Call { operation: Operation::Append, append: Some((&key, &event)) };
        match self.gate.enter(call).await? {
            Pass::Made(number, held) => {
                // A caller that never sees the answer keeps its head.
                let mut ahead = head.clone();
                let result = self.inner.append(&mut ahead, Arc::clone(&event)).await;
                drop(held);
                self.gate.leave(call, number, result.is_ok()).await;
                if result.is_ok() {
                    *head = ahead;
                }
                result
            }
            Pass::ReplyLost(error) => {
                self.inner.append(&mut head.clone(), event).await?;
                Err(error)
            }
            Pass::WriteLost => Ok(event),
        }
    }

    async fn claim_head(&self, head: &mut SessionHead, time: f64) -> SessionResult<()> {
        let mut ahead = head.clone();
        self.of(Operation::Claim, self.inner.claim(&mut ahead, time)).await?;
        *head = ahead;
        Ok(())
    }
}

impl SessionService for FaultySessions {
    fn create_session(&self, request: CreateSession) -> BoxFuture<'_, SessionResult<Session>> {
        Box::pin(self.of(Operation::CreateSession, self.inner.create_session(request)))
    }

    fn get_session<'a>(
        &'a self,
        key: &'a SessionKey,
        config: GetSessionConfig,
    ) -> BoxFuture<'a, SessionResult<Option<Session>>> {
        Box::pin(self.of(Operation::GetSession, self.inner.get_session(key, config)))
    }

    fn events_since<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<Option<Since>>> {
        Box::pin(self.of(Operation::EventsSince, self.inner.events_since(head)))
    }

    fn head_behind<'a>(
        &'a self,
        key: &'a SessionKey,
        event: &'a EventId,
    ) -> BoxFuture<'a, SessionResult<Option<SessionHead>>> {
        Box::pin(self.of(Operation::EventsSince, self.inner.head_behind(key, event)))
    }

    fn list_apps(&self) -> BoxFuture<'_, SessionResult<Vec<AppName>>> {
        Box::pin(self.of(Operation::ListSessions, self.inner.list_apps()))
    }

    fn list_sessions(&self, request: ListSessions) -> BoxFuture<'_, SessionResult<ListSessionsResponse>> {
        Box::pin(self.of(Operation::ListSessions, self.inner.list_sessions(request)))
    }

    fn list_questions(&self, request: ListQuestions) -> BoxFuture<'_, SessionResult<ListQuestionsResponse>> {
        Box::pin(self.of(Operation::ListQuestions, self.inner.list_questions(request)))
    }

    fn find_sessions<'a>(
        &'a self,
        app_name: &'a AppName,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, SessionResult<Vec<SessionKey>>> {
        Box::pin(self.of(Operation::FindSessions, self.inner.find_sessions(app_name, session_id)))
    }

    fn delete_session<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(self.of(Operation::DeleteSession, self.inner.delete_session(key)))
    }

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, SessionResult<Arc<Event>>> {
        Box::pin(self.append_to(head, event))
    }

    fn claim<'a>(&'a self, head: &'a mut SessionHead, time: f64) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(self.claim_head(head, time))
    }

    fn user_state<'a>(&'a self, app_name: &'a AppName, user_id: &'a UserId) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(self.of(Operation::State, self.inner.user_state(app_name, user_id)))
    }

    fn app_state<'a>(&'a self, app_name: &'a AppName) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(self.of(Operation::State, self.inner.app_state(app_name)))
    }

    fn health_check(&self) -> BoxFuture<'_, SessionResult<()>> {
        self.inner.health_check()
    }

    fn flush(&self) -> BoxFuture<'_, SessionResult<()>> {
        self.inner.flush()
    }

    fn close(&self) -> BoxFuture<'_, SessionResult<()>> {
        self.inner.close()
    }
}
