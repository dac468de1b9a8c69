//! [`FaultySessions`]: a session service that fails, delays calls and loses replies, by a plan or by a seed.

use std::future::Future;
use std::sync::Arc;

use pleach_core::{AppName, BoxFuture, Event, EventId, Map, Session, SessionHead, SessionId, SessionKey, UserId};
use pleach_session::{
    CreateSession, GetSessionConfig, ListQuestions, ListQuestionsResponse, ListSessions, ListSessionsResponse,
    LogPlace, NewDeadlines, SessionResult, SessionService, Since,
};

use crate::gate::{Call, Gate, Pass};
use crate::{FaultPlan, Operation};

/// A session service with faults. Its errors are the same as the errors of real services. Otherwise it behaves like the
/// inner service.
///
/// ```
/// use pleach_core::{Event, SessionKey};
/// use pleach_session::{CreateSession, SessionError, SessionService, SessionServiceExt as _};
/// use pleach_session_inmemory::InMemorySessionService;
/// use pleach_testkit::{FaultPlan, FaultySessions, Operation};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), SessionError> {
/// let plan = FaultPlan::new().fail(Operation::Append, 2);
/// let sessions = FaultySessions::new(InMemorySessionService::new(), plan);
/// let mut session = sessions.create_session(CreateSession::new("shop", "ana")).await?;
/// sessions.append_event(&mut session, Event::message("first")).await?;
/// let failed = sessions.append_event(&mut session, Event::message("second")).await;
/// assert!(matches!(failed, Err(SessionError::Unavailable { .. })));
/// sessions.append_event(&mut session, Event::message("second")).await?;
/// assert_eq!(sessions.calls(Operation::Append), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FaultySessions {
    pub(crate) inner: Arc<dyn SessionService>,
    pub(crate) gate: Arc<dyn Gate>,
}

impl FaultySessions {
    /// Wraps a service with the faults of a plan.
    pub fn new(inner: impl SessionService, plan: FaultPlan) -> Self {
        Self { inner: Arc::new(inner), gate: Arc::new(plan) }
    }

    /// Returns the number of calls of an operation so far, including failed ones.
    #[must_use]
    pub fn calls(&self, operation: Operation) -> usize {
        self.gate.calls(operation)
    }

    /// Returns the number of faults so far: failures, lost replies, lost appends and delays.
    #[must_use]
    pub fn faults(&self) -> usize {
        self.gate.faults()
    }

    /// Returns the planned faults whose calls have not been made yet, as operations and call numbers. A test that
    /// relies on its faults asserts that there are none left. Faults of [`rates`](FaultPlan::rates) and of
    /// [`fail_all_from`](FaultPlan::fail_all_from) are not included.
    #[must_use]
    pub fn unused(&self) -> Vec<(Operation, usize)> {
        self.gate.unused()
    }
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
            Pass::ReplyLost(error, held) => {
                let made = made.await;
                drop(held);
                made?;
                Err(error)
            }
            // Gates return this for appends only.
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
                // A caller that never sees the reply keeps its head.
                let mut ahead = head.clone();
                let result = self.inner.append(&mut ahead, Arc::clone(&event)).await;
                drop(held);
                self.gate.leave(call, number, result.is_ok()).await;
                if result.is_ok() {
                    *head = ahead;
                }
                result
            }
            Pass::ReplyLost(error, held) => {
                let appended = self.inner.append(&mut head.clone(), event).await;
                drop(held);
                appended?;
                Err(error)
            }
            Pass::WriteLost => Ok(event),
        }
    }

    async fn redact(&self, head: &mut SessionHead, event: Arc<Event>, time: f64) -> SessionResult<()> {
        let mut ahead = head.clone();
        self.of(Operation::Redact, self.inner.redact_event(&mut ahead, event, time)).await?;
        *head = ahead;
        Ok(())
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

    fn new_deadlines<'a>(
        &'a self,
        app_name: &'a AppName,
        since: Option<&'a LogPlace>,
        now: f64,
    ) -> BoxFuture<'a, SessionResult<Option<NewDeadlines>>> {
        Box::pin(self.of(Operation::NewDeadlines, self.inner.new_deadlines(app_name, since, now)))
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

    fn check_head<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(self.of(Operation::CheckHead, self.inner.check_head(head)))
    }

    fn note_settled<'a>(&'a self, program: &'a str, heads: &'a [SessionHead]) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(self.of(Operation::NoteSettled, self.inner.note_settled(program, heads)))
    }

    fn redact_event<'a>(
        &'a self,
        head: &'a mut SessionHead,
        event: Arc<Event>,
        time: f64,
    ) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(self.redact(head, event, time))
    }

    fn user_state<'a>(&'a self, app_name: &'a AppName, user_id: &'a UserId) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(self.of(Operation::State, self.inner.user_state(app_name, user_id)))
    }

    fn app_state<'a>(&'a self, app_name: &'a AppName) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(self.of(Operation::State, self.inner.app_state(app_name)))
    }

    fn health_check(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(self.of(Operation::HealthCheck, self.inner.health_check()))
    }

    fn flush(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(self.of(Operation::Flush, self.inner.flush()))
    }

    fn close(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(self.of(Operation::Close, self.inner.close()))
    }
}
