//! The number of times that a run reads its session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pleach::{
    AppName, BoxFuture, CreateSession, Event, GetSessionConfig, InMemorySessionService, ListSessions,
    ListSessionsResponse, Map, Session, SessionError, SessionHead, SessionId, SessionKey, SessionService, Since,
    UserId,
};
use serde_json::json;

use crate::served::{apps, message, serve};

/// Sessions in memory that count their reads. Reads can be made to fail.
#[derive(Clone, Debug, Default)]
struct CountingSessions {
    inner: Arc<InMemorySessionService>,
    reads: Arc<AtomicUsize>,
    fails: Arc<AtomicBool>,
}

type Answer<'a, T> = BoxFuture<'a, Result<T, SessionError>>;

impl SessionService for CountingSessions {
    fn create_session(&self, request: CreateSession) -> Answer<'_, Session> {
        self.inner.create_session(request)
    }

    fn get_session<'a>(&'a self, key: &'a SessionKey, config: GetSessionConfig) -> Answer<'a, Option<Session>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        if self.fails.load(Ordering::SeqCst) {
            return Box::pin(async { Err(SessionError::Storage { backend: "counted", source: "broken".into() }) });
        }
        self.inner.get_session(key, config)
    }

    fn events_since<'a>(&'a self, head: &'a SessionHead) -> Answer<'a, Option<Since>> {
        self.inner.events_since(head)
    }

    fn list_sessions(&self, request: ListSessions) -> Answer<'_, ListSessionsResponse> {
        self.inner.list_sessions(request)
    }

    fn find_sessions<'a>(&'a self, app: &'a AppName, id: &'a SessionId) -> Answer<'a, Vec<SessionKey>> {
        self.inner.find_sessions(app, id)
    }

    fn delete_session<'a>(&'a self, key: &'a SessionKey) -> Answer<'a, ()> {
        self.inner.delete_session(key)
    }

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> Answer<'a, Arc<Event>> {
        self.inner.append(head, event)
    }

    fn user_state<'a>(&'a self, app: &'a AppName, user: &'a UserId) -> Answer<'a, Map> {
        self.inner.user_state(app, user)
    }
}

// H51, H57
#[tokio::test]
async fn h57_a_run_reads_its_session_once_and_its_stream_begins_with_it() {
    let sessions = CountingSessions::default();
    let served = serve(apps().sessions(sessions.clone())).await;
    served.session("demo", "s").await;
    for path in ["/run", "/run_sse"] {
        let before = sessions.reads.load(Ordering::SeqCst);
        let reply = served.post(path, message("demo", "s", "weather")).await;
        assert_eq!(reply.status, 200);
        let events = if path == "/run" { reply.json().as_array().unwrap().clone() } else { reply.events() };
        // The user's message is not among the events.
        assert!(events.len() == 3 && events.iter().all(|event| event["author"] == "demo_agent"), "{events:?}");
        assert_eq!(sessions.reads.load(Ordering::SeqCst) - before, 1, "{path}");
        for missing in ["nope", " "] {
            let reply = served.post(path, message("demo", missing, "hi")).await;
            assert_eq!((reply.status, reply.detail()), (404, format!("Session not found: {missing}")), "{path}");
        }
    }
    let mut answer = message("demo", "nope", "");
    answer["newMessage"] = json!({"parts": [{"functionResponse": {"id": "a", "name": "n", "response": {}}}]});
    assert_eq!(served.post("/run_sse", answer).await.status, 404);
    sessions.fails.store(true, Ordering::SeqCst);
    for path in ["/run", "/run_sse"] {
        assert_eq!(served.post(path, message("demo", "s", "hi")).await.status, 500, "{path}");
    }
}
