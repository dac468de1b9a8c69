//! Tests that sessions that begin with events are stored whole or not at all.

use std::sync::Arc;
use std::time::Duration;

use pleach::server::ServerLimits;
use pleach::{BoxFuture, Event, InMemorySessionService, SessionError, SessionHead, SessionService};
use pleach_contract::TestClock;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore};

use crate::client::Ask;
use crate::served::{Served, apps, message, serve};

const SESSIONS: &str = "/apps/demo/users/u/sessions";
const SESSION: &str = "/apps/demo/users/u/sessions/s";

/// Sessions in memory whose appends wait until the test lets them continue.
#[derive(Clone, Debug)]
struct Gated {
    inner: Arc<InMemorySessionService>,
    open: Arc<Semaphore>,
    reached: Arc<Notify>,
}

impl Gated {
    fn new() -> Self {
        Self { inner: Arc::default(), open: Arc::new(Semaphore::new(0)), reached: Arc::default() }
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, SessionError>>;

impl SessionService for Gated {
    pleach::forward_session_service!(|this| this.inner; create_session, get_session, events_since, list_sessions,
        find_sessions, delete_session, user_state);

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> Answer<'a, Arc<Event>> {
        Box::pin(async move {
            self.reached.notify_one();
            self.open.acquire().await.expect("the gate is never closed").forget();
            self.inner.append(head, event).await
        })
    }
}

/// A request that creates the session `s` with this many events.
fn with_events(count: usize) -> Ask {
    let events: Vec<Value> =
        (0..count).map(|number| json!({"author": "user", "message": number.to_string()})).collect();
    Ask::post(SESSIONS, &json!({"sessionId": "s", "events": events}))
}

async fn stored(served: &Served) -> usize {
    served.get(SESSION).await.json()["events"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn a_client_that_leaves_while_its_session_is_made_finds_all_of_it() {
    let sessions = Gated::new();
    let served = serve(apps().sessions(sessions.clone())).await;
    let mut client = TcpStream::connect(served.address).await.unwrap();
    client.write_all(&with_events(3).bytes("127.0.0.1")).await.unwrap();
    sessions.reached.notified().await;
    // The first of three events is stored, and the client has disconnected.
    sessions.open.add_permits(1);
    sessions.reached.notified().await;
    drop(client);
    assert_eq!(stored(&served).await, 1);
    // A run of the session waits for the remaining events.
    let run = tokio::spawn({
        let (ask, address) = (Ask::post("/run", &message("demo", "s", "hi")), served.address);
        async move { ask.to(address).await }
    });
    sessions.open.add_permits(100);
    assert_eq!(run.await.unwrap().status, 200);
    let events = served.get(SESSION).await.json();
    let texts = events["events"].as_array().unwrap().iter().map(|event| event["content"]["parts"][0]["text"].clone());
    assert_eq!(texts.take(4).collect::<Vec<_>>(), ["0", "1", "2", "hi"]);
}

#[tokio::test]
async fn a_session_whose_events_take_too_long_is_not_kept() {
    const TIME: Duration = Duration::from_secs(7);
    let (sessions, clock) = (Gated::new(), TestClock::new());
    let limits = ServerLimits::new().request_time(TIME);
    let served = serve(apps().sessions(sessions.clone()).clock(clock.clone()).limits(limits)).await;
    let reply = tokio::spawn({
        let address = served.address;
        async move { with_events(3).to(address).await }
    });
    sessions.reached.notified().await;
    sessions.open.add_permits(1);
    sessions.reached.notified().await;
    // One limit was for the body, which has arrived; the one for the events lasts.
    assert_eq!(clock.sleeps().into_iter().filter(|sleep| *sleep == TIME).count(), 2);
    assert_eq!(clock.end_sleeps_of(TIME), 1);
    let reply = reply.await.unwrap();
    assert_eq!(reply.status, 503, "{reply:?}");
    assert!(reply.detail().contains("nothing was kept"), "{reply:?}");
    assert_eq!(served.get(SESSION).await.status, 404);
    // The id is free again.
    sessions.open.add_permits(3);
    assert_eq!(served.send(with_events(3)).await.status, 200);
    assert_eq!(stored(&served).await, 3);
}

/// The second event has the id of the first one.
#[tokio::test]
async fn a_session_with_an_event_that_cannot_be_stored_is_not_kept() {
    let served = serve(apps()).await;
    let events = json!([{"id": "e", "author": "user", "message": "a"}, {"id": "e", "author": "user", "message": "b"}]);
    let body = json!({"sessionId": "s", "events": events});
    let reply = served.send(Ask::post(SESSIONS, &body)).await;
    assert_eq!(reply.status, 400, "{reply:?}");
    assert_eq!(served.get(SESSION).await.status, 404);
    // An existing session is not changed.
    assert_eq!(served.send(with_events(2)).await.status, 200);
    assert_eq!(served.send(with_events(1)).await.status, 409);
    assert_eq!(stored(&served).await, 2);
}
