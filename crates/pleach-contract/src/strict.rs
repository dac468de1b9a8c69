//! A session service that exposes sloppy callers and backends.

use std::sync::Arc;

use pleach_core::{AppName, BoxError, BoxFuture, Event, Map, Session, SessionHead, SessionKey, UserId, to_camel};
use pleach_session::{
    CreateSession, GetSessionConfig, ListQuestions, ListQuestionsResponse, ListSessions, ListSessionsResponse,
    SessionError, SessionResult, SessionService, Since,
};

/// Wraps a service so that sloppy callers, and backends that rely on shared memory, fail early.
///
/// All inputs and outputs are converted to JSON and back, in both spellings, and must be equal afterwards. Heads lose
/// the backend's short cut. Returned values share no memory with stored ones.
#[derive(Debug)]
pub struct StrictSessionService<S> {
    inner: S,
}

impl<S: SessionService> StrictSessionService<S> {
    /// Wraps a service.
    pub fn new(inner: S) -> Self {
        Self { inner }
    }

    async fn create(&self, mut request: CreateSession) -> SessionResult<Session> {
        // State that cannot be converted is left for the service to refuse by name.
        if let Ok(state) = through_json(&request.state) {
            request.state = state;
        }
        copied(self.inner.create_session(request).await?)
    }

    async fn append(&self, head: &mut SessionHead, event: Arc<Event>) -> SessionResult<Arc<Event>> {
        // Convert the event before it is stored. An event that cannot be read back is left for the service to refuse by
        // name.
        let readable = serde_json::to_string(&*event).is_ok_and(|text| serde_json::from_str::<Event>(&text).is_ok());
        let ops = event.actions().state_ops().clone();
        let event = if readable && !event.is_partial() {
            let mut copy = copied_event(&event)?;
            // Operations have no JSON form; the store applies them.
            ops.into_iter().for_each(|(key, ops)| copy.actions_mut().set_state_ops(key, ops));
            if !event.has_timestamp() {
                copy.clear_timestamp();
            }
            Arc::new(copy)
        } else {
            event
        };
        let mut bare = without_handle(head);
        let stored = self.inner.append(&mut bare, event).await?;
        *head = without_handle(&bare);
        Ok(stored)
    }

    async fn redact(&self, head: &mut SessionHead, event: &Event, time: f64) -> SessionResult<()> {
        let mut bare = without_handle(head);
        self.inner.redact_event(&mut bare, Arc::new(copied_event(event)?), time).await?;
        *head = without_handle(&bare);
        Ok(())
    }

    async fn claim(&self, head: &mut SessionHead, time: f64) -> SessionResult<()> {
        let mut bare = without_handle(head);
        self.inner.claim(&mut bare, time).await?;
        *head = without_handle(&bare);
        Ok(())
    }

    async fn list(&self, request: ListSessions) -> SessionResult<ListSessionsResponse> {
        let ListSessionsResponse { sessions, next, faults } = self.inner.list_sessions(request).await?;
        let sessions = sessions.into_iter().map(copied).collect::<SessionResult<_>>()?;
        Ok(ListSessionsResponse { sessions, next: next.map(|next| through_json(&next)).transpose()?, faults })
    }

    async fn since(&self, head: &SessionHead) -> SessionResult<Option<Since>> {
        match self.inner.events_since(&without_handle(head)).await? {
            Some(Since::Events(session)) => copied(session).map(|session| Some(Since::Events(session))),
            other => Ok(other),
        }
    }
}

impl<S: SessionService> SessionService for StrictSessionService<S> {
    pleach_session::forward_session_service!(|this| this.inner; head_behind, list_apps, new_deadlines,
        find_sessions, delete_session, health_check, flush, close);

    fn create_session(&self, request: CreateSession) -> BoxFuture<'_, SessionResult<Session>> {
        Box::pin(self.create(request))
    }

    fn get_session<'a>(
        &'a self,
        key: &'a SessionKey,
        config: GetSessionConfig,
    ) -> BoxFuture<'a, SessionResult<Option<Session>>> {
        Box::pin(async move { self.inner.get_session(key, config).await?.map(copied).transpose() })
    }

    fn events_since<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<Option<Since>>> {
        Box::pin(self.since(head))
    }

    fn list_sessions(&self, request: ListSessions) -> BoxFuture<'_, SessionResult<ListSessionsResponse>> {
        Box::pin(self.list(request))
    }

    fn list_questions(&self, request: ListQuestions) -> BoxFuture<'_, SessionResult<ListQuestionsResponse>> {
        Box::pin(async move {
            let ListQuestionsResponse { items, next } = self.inner.list_questions(request).await?;
            Ok(ListQuestionsResponse { items: through_json(&items)?, next: through_json(&next)? })
        })
    }

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, SessionResult<Arc<Event>>> {
        Box::pin(self.append(head, event))
    }

    fn claim<'a>(&'a self, head: &'a mut SessionHead, time: f64) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(self.claim(head, time))
    }

    fn check_head<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move { self.inner.check_head(&without_handle(head)).await })
    }

    fn note_settled<'a>(&'a self, program: &'a str, heads: &'a [SessionHead]) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move {
            let bare: Vec<SessionHead> = heads.iter().map(without_handle).collect();
            self.inner.note_settled(program, &bare).await
        })
    }

    fn redact_event<'a>(
        &'a self,
        head: &'a mut SessionHead,
        event: Arc<Event>,
        time: f64,
    ) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move { self.redact(head, &event, time).await })
    }

    fn user_state<'a>(&'a self, app_name: &'a AppName, user_id: &'a UserId) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(async move { through_json(&self.inner.user_state(app_name, user_id).await?) })
    }

    fn app_state<'a>(&'a self, app_name: &'a AppName) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(async move { through_json(&self.inner.app_state(app_name).await?) })
    }
}

fn without_handle(head: &SessionHead) -> SessionHead {
    SessionHead::new(head.shared_key().clone(), head.revision(), head.last_update_time())
}

/// Returns the session, read back from both spellings of its JSON.
fn copied(session: Session) -> SessionResult<Session> {
    let events = session.events.iter().map(|event| copied_event(event).map(Arc::new)).collect::<SessionResult<_>>()?;
    let mut copy: Session = through_json(&session)?;
    let camel: Session = to_camel(&session).and_then(serde_json::from_value).map_err(refused)?;
    let same = |other: &Session| (&other.state, &other.events) == (&session.state, &session.events);
    if !same(&copy) || !same(&camel) || copy.key() != session.key() {
        return Err(refused(format!("session {} has changed after conversion to JSON and back", session.key())));
    }
    copy.head = without_handle(&session.head);
    copy.events = events;
    copy.unreadable = session.unreadable;
    Ok(copy)
}

fn copied_event(event: &Event) -> SessionResult<Event> {
    let copy: Event = through_json(event)?;
    let camel: Event = to_camel(event).and_then(serde_json::from_value).map_err(refused)?;
    let mut plain = event.clone();
    plain.actions_mut().take_state_ops();
    if copy != plain || camel != plain {
        return Err(refused(format!("event {} has changed after conversion to JSON and back", event.id())));
    }
    Ok(copy)
}

fn through_json<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> SessionResult<T> {
    let text = serde_json::to_string(value).map_err(refused)?;
    serde_json::from_str(&text).map_err(refused)
}

fn refused(source: impl Into<BoxError>) -> SessionError {
    SessionError::Storage { backend: "strict", source: source.into() }
}
