//! A session service that stops in the middle of a load or an append, so that a test controls what happens in the meantime.

use std::sync::{Arc, Mutex};

use pleach::prelude::*;
use pleach::{
    BoxFuture, GetSessionConfig, InMemorySessionService, Session, SessionError, SessionHead, SessionKey, SessionService,
};
use tokio::sync::Semaphore;

type Answer<T> = Result<T, SessionError>;

/// A session service with gates. A load passes one gate before the session is read, and another one after that. An
/// append uses up one permit before the event is stored, and another one after that. All other calls are passed
/// through.
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

    /// A service whose appends stall, from the append with this number on, counted from 0. If `is_stored` is set, they
    /// stall after the event is stored, but before the caller learns of that. Otherwise they stall before the event is
    /// stored.
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
    pleach::forward_session_service!(|this| this.sessions; create_session, events_since, list_sessions,
        list_questions, find_sessions, delete_session, claim, user_state);

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

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, Answer<Arc<Event>>> {
        Box::pin(async move {
            self.storing.acquire().await.unwrap().forget();
            let stored = self.sessions.append(head, event).await;
            self.stored.acquire().await.unwrap().forget();
            stored
        })
    }
}
