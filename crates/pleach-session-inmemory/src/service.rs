//! The service, which forwards each operation to the directory or to a stored session.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use pleach_core::{AppName, BoxFuture, Event, Map, REQUEST_INPUT, Session, SessionHead, SessionId, SessionKey, UserId};
use pleach_session::{
    CreateSession, GetSessionConfig, ListCursor, ListQuestions, ListQuestionsResponse, ListSessions,
    ListSessionsResponse, LogPlace, NewDeadlines, SessionError, SessionResult, SessionService, Since, prepare,
};

use crate::asked::AskedLog;
use crate::directory::Directory;
use crate::shared::lock;
use crate::stored::{Appended, StoredSession};

/// A session service in process memory. ADK: `InMemorySessionService`.
///
/// Unlike google-adk's service, it refuses stale writers, and event ids that belong to another event.
///
/// # Example
/// ```
/// # use pleach_session::{CreateSession, SessionResult, SessionService as _};
/// # use pleach_session_inmemory::InMemorySessionService;
/// # async fn example() -> SessionResult<()> {
/// let sessions = InMemorySessionService::new();
/// let session = sessions.create_session(CreateSession::new("shop", "ana")).await?;
/// assert!(session.events.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct InMemorySessionService {
    /// Identifies this service, so that a head of one service is never used in another.
    service: u64,
    /// The number of created sessions, so that a session that is deleted and created again never repeats a revision.
    generations: AtomicU32,
    directory: RwLock<Directory>,
    asked: Mutex<AskedLog>,
}

impl Default for InMemorySessionService {
    fn default() -> Self {
        Self::new()
    }
}

impl InMemorySessionService {
    /// Creates an empty service.
    pub fn new() -> Self {
        static SERVICES: AtomicU64 = AtomicU64::new(0);
        let service = SERVICES.fetch_add(1, Ordering::Relaxed);
        Self {
            service,
            // The numbers of services are far apart, so that a revision of one service never fits a session of another.
            generations: AtomicU32::new(u32::try_from(service % 4096).unwrap_or(0) << 20),
            directory: RwLock::default(),
            asked: Mutex::default(),
        }
    }

    fn create(&self, request: CreateSession) -> SessionResult<Session> {
        let create_time = prepare::create_time(&request);
        let id = prepare::session_id_or_new(request.session_id.as_ref());
        let key = SessionKey::new(request.app_name, request.user_id, id);
        let state = prepare::check_new_session(&key, create_time, request.state)?;
        let generation = self.generations.fetch_add(1, Ordering::Relaxed);
        let mut directory = write(&self.directory);
        let stored = directory.create(key, state, |key, state, app, user| {
            StoredSession::new(self.service, generation, key, state, app, user, create_time)
        })?;
        // While the lock is held, no other caller can find the session, so it cannot have an event yet.
        Ok(stored.load(&GetSessionConfig::recent(0)))
    }

    /// Returns the stored session; the id is trimmed first.
    // S30
    fn find(&self, key: &SessionKey) -> Option<Arc<StoredSession>> {
        let trimmed = prepare::trimmed_key(key);
        read(&self.directory).find(trimmed.as_ref().unwrap_or(key))
    }

    fn list(&self, request: &ListSessions) -> ListSessionsResponse {
        let mut found = read(&self.directory).sessions(&request.app_name, request.user_id.as_ref());
        if let Some(program) = &request.unsettled_for {
            found.retain(|stored| !stored.is_settled(program));
        }
        // The sessions are not kept in order. For each append that would need a lock on all sessions and two steps
        // in a tree, while an append only touches its own session.
        let places = found.into_iter().map(|stored| (stored.place(), stored)).collect();
        let (page, next) = ListCursor::page(places, request.after.as_ref(), request.limit);
        let session = |(_, stored): &(ListCursor, Arc<StoredSession>)| {
            if request.with_state { stored.load(&GetSessionConfig::recent(0)) } else { stored.without_state() }
        };
        let sessions = page.iter().map(session).collect();
        ListSessionsResponse { sessions, next, faults: Vec::new() }
    }

    fn delete(&self, key: &SessionKey) {
        let trimmed = prepare::trimmed_key(key);
        let removed = write(&self.directory).remove(trimmed.as_ref().unwrap_or(key));
        if let Some(stored) = removed {
            stored.mark_deleted();
            lock(&self.asked).forget(trimmed.as_ref().unwrap_or(key));
        }
    }

    fn append_now(&self, head: &mut SessionHead, event: Arc<Event>) -> SessionResult<Arc<Event>> {
        if event.is_partial() {
            return Ok(event);
        }
        let event = prepare::event_to_store(head.key(), event)?;
        if let Some(appended) = self.append_by_handle(head, &event) {
            let Appended { event, revision, update_time } = appended?;
            head.advance(revision, update_time);
            self.note_deadlines(head.key(), &event);
            return Ok(event);
        }
        let stored = self.find(head.key()).ok_or_else(|| SessionError::NotFound(head.key().clone()))?;
        let Appended { event, revision, update_time } =
            stored.append(head, &event).unwrap_or_else(|| Err(SessionError::NotFound(head.key().clone())))?;
        head.advance(revision, update_time);
        head.set_handle(Some(stored));
        self.note_deadlines(head.key(), &event);
        Ok(event)
    }

    /// Keeps the questions with a deadline that a stored event asks, for callers that wait for deadlines.
    fn note_deadlines(&self, key: &SessionKey, event: &Event) {
        if event.function_calls().any(|call| call.name.as_deref() == Some(REQUEST_INPUT)) {
            let trimmed = prepare::trimmed_key(key);
            lock(&self.asked).add(trimmed.as_ref().unwrap_or(key), event);
        }
    }

    fn claim_now(&self, head: &mut SessionHead, time: f64) -> SessionResult<()> {
        let stored = self.find(head.key()).ok_or_else(|| SessionError::NotFound(head.key().clone()))?;
        let (revision, update_time) = stored
            .claim(head.revision(), prepare::claim_time(head, time))
            .unwrap_or_else(|| Err(SessionError::NotFound(head.key().clone())))?;
        head.advance(revision, update_time);
        Ok(())
    }

    fn redact_now(&self, head: &mut SessionHead, event: Arc<Event>, time: f64) -> SessionResult<()> {
        let event = prepare::event_to_store(head.key(), event)?;
        let stored = self.find(head.key()).ok_or_else(|| SessionError::NotFound(head.key().clone()))?;
        let (revision, update_time) = stored
            .redact(head.revision(), event, prepare::claim_time(head, time))
            .unwrap_or_else(|| Err(SessionError::NotFound(head.key().clone())))?;
        head.advance(revision, update_time);
        lock(&self.asked).forget(head.key());
        Ok(())
    }

    /// Appends through the session that the head points to; `None` if it does not point to a session of this service.
    fn append_by_handle(&self, head: &SessionHead, event: &Arc<Event>) -> Option<SessionResult<Appended>> {
        let stored = head.handle()?.downcast_ref::<StoredSession>()?;
        if !stored.is_of(self.service, head.key()) {
            return None;
        }
        stored.append(head, event)
    }
}

impl SessionService for InMemorySessionService {
    fn create_session(&self, request: CreateSession) -> BoxFuture<'_, SessionResult<Session>> {
        Box::pin(async move { self.create(request) })
    }

    fn get_session<'a>(
        &'a self,
        key: &'a SessionKey,
        config: GetSessionConfig,
    ) -> BoxFuture<'a, SessionResult<Option<Session>>> {
        Box::pin(async move { Ok(self.find(key).map(|stored| stored.load(&config))) })
    }

    fn events_since<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<Option<Since>>> {
        Box::pin(async move { Ok(self.find(head.key()).map(|stored| stored.since(head.revision()))) })
    }

    fn list_apps(&self) -> BoxFuture<'_, SessionResult<Vec<AppName>>> {
        Box::pin(async move { Ok(read(&self.directory).apps()) })
    }

    fn list_sessions(&self, request: ListSessions) -> BoxFuture<'_, SessionResult<ListSessionsResponse>> {
        Box::pin(async move { Ok(self.list(&request)) })
    }

    fn list_questions(&self, request: ListQuestions) -> BoxFuture<'_, SessionResult<ListQuestionsResponse>> {
        Box::pin(async move {
            let found = read(&self.directory).sessions(&request.app_name, request.user_id.as_ref());
            let items = found.iter().flat_map(|stored| stored.questions(&request)).collect();
            Ok(ListQuestionsResponse::page(items, &request))
        })
    }

    fn new_deadlines<'a>(
        &'a self,
        app_name: &'a AppName,
        since: Option<&'a LogPlace>,
        _: f64,
    ) -> BoxFuture<'a, SessionResult<Option<NewDeadlines>>> {
        Box::pin(async move { Ok(lock(&self.asked).since(self.service, app_name, since)) })
    }

    fn find_sessions<'a>(
        &'a self,
        app_name: &'a AppName,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, SessionResult<Vec<SessionKey>>> {
        Box::pin(async move { Ok(read(&self.directory).keys_with_id(app_name, session_id)) })
    }

    fn delete_session<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move {
            self.delete(key);
            Ok(())
        })
    }

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, SessionResult<Arc<Event>>> {
        Box::pin(async move { self.append_now(head, event) })
    }

    fn claim<'a>(&'a self, head: &'a mut SessionHead, time: f64) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move { self.claim_now(head, time) })
    }

    fn check_head<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move {
            let checked = self.find(head.key()).and_then(|stored| stored.check(head.revision()));
            checked.unwrap_or_else(|| Err(SessionError::NotFound(head.key().clone())))
        })
    }

    fn note_settled<'a>(&'a self, program: &'a str, heads: &'a [SessionHead]) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move {
            for head in heads {
                if let Some(stored) = self.find(head.key()) {
                    stored.settle(program, head.revision());
                }
            }
            Ok(())
        })
    }

    fn redact_event<'a>(
        &'a self,
        head: &'a mut SessionHead,
        event: Arc<Event>,
        time: f64,
    ) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move { self.redact_now(head, event, time) })
    }

    fn user_state<'a>(&'a self, app_name: &'a AppName, user_id: &'a UserId) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(async move { Ok(read(&self.directory).user_state(app_name, user_id)) })
    }

    fn app_state<'a>(&'a self, app_name: &'a AppName) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(async move { Ok(read(&self.directory).app_state(app_name)) })
    }
}

/// Only a failed allocation can panic while the lock is held, so a poisoned directory is intact.
fn read(directory: &RwLock<Directory>) -> RwLockReadGuard<'_, Directory> {
    directory.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(directory: &RwLock<Directory>) -> RwLockWriteGuard<'_, Directory> {
    directory.write().unwrap_or_else(PoisonError::into_inner)
}
