//! A session service that stops in the middle of a load or an append, so that a test controls what happens in the meantime.

use std::sync::{Arc, Mutex};

use pleach::prelude::*;
use pleach::{AppName, SessionId, UserId};
use pleach::{
    BoxFuture, CreateSession, GetSessionConfig, InMemorySessionService, ListQuestions, ListQuestionsResponse,
    ListSessions, ListSessionsResponse, Map, Session, SessionError, SessionHead, SessionKey, SessionService, Since,
};
use tokio::sync::Semaphore;

type Answer<T> = Result<T, SessionError>;

/// A session service with gates. A load passes one gate before the session is read and one after. An append uses up one permit
/// before the event is stored and one after. All other calls are passed through.
#[derive(Clone, Debug)]
pub(crate) struct Gated {
    pub(crate) sessions: Arc<InMemorySessionService>,
    pub(crate) before: Arc<Semaphore>,
    pub(crate) after: Arc<Semaphore>,
    pub(crate) storing: Arc<Semaphore>,
    pub(crate) stored: Arc<Semaphore>,
    /// The options of all loads.
    pub(crate) loads: Arc<Mutex<Vec<GetSessionConfig>>>,
}

impl Gated {
    /// A service whose gates are open.
    pub(crate) fn new() -> Self {
        let gate = |permits| Arc::new(Semaphore::new(permits));
        let (before, after, storing, stored) = (gate(1), gate(1), gate(ANY), gate(ANY));
        let (sessions, loads) = (Arc::new(InMemorySessionService::new()), Arc::default());
        Self { sessions, before, after, storing, stored, loads }
    }

    /// A service whose appends stall from the append with this number on, counted from 0. They stall before the event is stored, or
    /// after it is stored and before the caller knows.
    pub(crate) fn stalling(appends: usize, is_stored: bool) -> Self {
        let gated = Self::new();
        let gate = if is_stored { &gated.stored } else { &gated.storing };
        gate.forget_permits(ANY - appends);
        gated
    }

    /// Makes the store answer again.
    pub(crate) fn answer(&self) {
        self.storing.add_permits(ANY / 2);
        self.stored.add_permits(ANY / 2);
    }
}

/// More appends than any test makes.
const ANY: usize = 1_000_000;

async fn pass(gate: &Semaphore) {
    drop(gate.acquire().await.unwrap());
}

impl SessionService for Gated {
    fn create_session(&self, request: CreateSession) -> BoxFuture<'_, Answer<Session>> {
        self.sessions.create_session(request)
    }

    fn get_session<'a>(
        &'a self,
        key: &'a SessionKey,
        config: GetSessionConfig,
    ) -> BoxFuture<'a, Answer<Option<Session>>> {
        Box::pin(async move {
            self.loads.lock().unwrap().push(config);
            pass(&self.before).await;
            let session = self.sessions.get_session(key, config).await;
            pass(&self.after).await;
            session
        })
    }

    fn events_since<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, Answer<Option<Since>>> {
        self.sessions.events_since(head)
    }

    fn list_sessions(&self, request: ListSessions) -> BoxFuture<'_, Answer<ListSessionsResponse>> {
        self.sessions.list_sessions(request)
    }

    fn list_questions(&self, request: ListQuestions) -> BoxFuture<'_, Answer<ListQuestionsResponse>> {
        self.sessions.list_questions(request)
    }

    fn find_sessions<'a>(&'a self, app: &'a AppName, id: &'a SessionId) -> BoxFuture<'a, Answer<Vec<SessionKey>>> {
        self.sessions.find_sessions(app, id)
    }

    fn delete_session<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, Answer<()>> {
        self.sessions.delete_session(key)
    }

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, Answer<Arc<Event>>> {
        Box::pin(async move {
            self.storing.acquire().await.unwrap().forget();
            let stored = self.sessions.append(head, event).await;
            self.stored.acquire().await.unwrap().forget();
            stored
        })
    }

    fn claim<'a>(&'a self, head: &'a mut SessionHead, time: f64) -> BoxFuture<'a, Answer<()>> {
        self.sessions.claim(head, time)
    }

    fn user_state<'a>(&'a self, app: &'a AppName, user: &'a UserId) -> BoxFuture<'a, Answer<Map>> {
        self.sessions.user_state(app, user)
    }
}
