//! Tests of the inspector: parts of long sessions, its limits, and values that it hides.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pleach::server::{Inspector, Server, ServerLimits};
use pleach::{
    App, BoxFuture, CreateSession, Event, GetSessionConfig, InMemorySessionService, Session, SessionKey, SessionResult,
    SessionService, SessionServiceExt as _,
};
use pleach_contract::TestClock;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::client::Ask;
use crate::inspect::{SESSION, hostile, inspected, serve_alone, waiting};
use crate::served::{apps, serve};
use crate::wf;

/// A session with ten events whose invocations alternate.
async fn mixed() -> InMemorySessionService {
    let store = InMemorySessionService::new();
    let mut session = store.create_session(CreateSession::new("old", "u").with_session_id("s")).await.unwrap();
    for place in 0..10 {
        let mut event = Event::from_author("a").with_message("hm");
        event.set_id(format!("e{place}"));
        event.set_invocation_id(if place % 2 == 0 { "even" } else { "odd" });
        store.append_event(&mut session, event).await.unwrap();
    }
    store
}

#[tokio::test]
async fn a_timeline_is_read_from_both_ends_and_for_one_invocation() {
    let served = serve_alone(Inspector::new(mixed().await)).await;
    for (query, places, previous, next, total) in [
        ("limit=3", &[0, 1, 2][..], None, Some(3), 10),
        ("from=8&limit=3", &[8, 9], Some(8), None, 10),
        ("before=1000&limit=3", &[7, 8, 9], Some(7), None, 10),
        ("before=7&limit=3", &[4, 5, 6], Some(4), Some(7), 10),
        ("before=2&limit=3", &[0, 1], None, Some(2), 10),
        ("invocation=odd&before=1000&limit=2", &[7, 9], Some(7), None, 5),
        ("invocation=odd&from=2&limit=2", &[3, 5], Some(3), Some(7), 5),
        ("invocation=none", &[], None, None, 0),
        ("from=10", &[], None, None, 10),
        ("before=-1", &[], None, Some(0), 10),
    ] {
        let page = served.get(&format!("/inspect/api/apps/old/users/u/sessions/s/timeline?{query}")).await.json();
        let found: Vec<u64> =
            page["entries"].as_array().unwrap().iter().map(|entry| entry["place"].as_u64().unwrap()).collect();
        assert_eq!(found, places, "{query}");
        assert_eq!(
            (&page["previous"], &page["next"], &page["total"]),
            (&json!(previous), &json!(next), &json!(total)),
            "{query}"
        );
    }
}

/// A value is recognised as a credential by the name of its member. In views of the state, the state key is that name.
#[tokio::test]
async fn h9_views_of_the_state_hold_no_secret_of_a_credential() {
    let store = InMemorySessionService::new();
    let mut session = store.create_session(CreateSession::new("old", "u").with_session_id("s")).await.unwrap();
    let secret = json!({"oauth2": {"clientId": "id", "clientSecret": "s3cret"}});
    let mut event = Event::from_author("a").with_state("rawAuthCredential", secret);
    event.set_id("e1");
    let event = event.with_state("key", json!({"auth_type": "apiKey", "api_key": "s3cret"}));
    store.append_event(&mut session, event).await.unwrap();
    let served = serve_alone(Inspector::new(store)).await;
    for path in ["state", "timeline", "events/e1"] {
        let reply = served.get(&format!("/inspect/api/apps/old/users/u/sessions/s/{path}")).await;
        assert!(reply.status == 200 && reply.text.contains("clientId") && !reply.text.contains("s3cret"), "{reply:?}");
    }
}

/// Reading a session takes memory for all of it, so only a few requests read at once. The server answers other requests in the meantime.
#[tokio::test]
async fn few_sessions_are_read_at_once() {
    let counts = Arc::new(GatedReads::default());
    let served =
        serve_alone(Inspector::new(MinimalService { inner: hostile().await, counts: Arc::clone(&counts) })).await;
    let timeline = "/inspect/api/apps/old/users/u/sessions/s/timeline";
    let address = served.address;
    let ask = || tokio::spawn(async move { Ask::get(timeline).to(address).await });
    let asked: Vec<_> = (0..9).map(|_| ask()).collect();
    counts.wait_for(4).await;
    assert_eq!(served.get("/health").await.status, 200);
    counts.gate.add_permits(9);
    for reply in asked {
        assert_eq!(reply.await.unwrap().status, 200);
    }
    assert_eq!((counts.most.load(Ordering::SeqCst), counts.now.load(Ordering::SeqCst)), (4, 0));
}

#[tokio::test]
async fn an_app_is_shown_by_a_session_service_that_lists_none() {
    let served = serve_alone(Inspector::new(MinimalService::open(hostile().await))).await;
    assert_eq!(served.get("/inspect/api/apps").await.json(), json!({ "apps": [] }));
    assert_eq!(served.get("/inspect/api/apps/old/sessions").await.json()["total"], 1);
    let server = Server::new().app(App::new("wf", wf::workflow().unwrap()).unwrap());
    let served = inspected(server.sessions(MinimalService::open(hostile().await))).await;
    let apps = served.get("/inspect/api/apps").await.json();
    assert_eq!(apps, json!({"apps": [{"name": "wf", "readOnly": false}]}));
}

#[tokio::test]
async fn a_graph_of_too_many_nodes_is_refused_with_the_reason() {
    let store = InMemorySessionService::new();
    let mut session = store.create_session(CreateSession::new("old", "u").with_session_id("s")).await.unwrap();
    for number in 0..1100 {
        let mut event = Event::of(1).with_node_path(format!("w@1/n{number}@1").as_str());
        event.set_invocation_id("i");
        store.append_event(&mut session, event).await.unwrap();
    }
    let served = serve_alone(Inspector::new(store)).await;
    let reply = served.get("/inspect/api/apps/old/users/u/sessions/s/picture").await;
    assert!(reply.status == 422 && reply.detail().contains("more than 1000 nodes"), "{reply:?}");
    assert_eq!(served.get("/inspect/api/apps/old/users/u/sessions/s/tree").await.json()["runs"][1100]["depth"], 1);
}

#[tokio::test]
async fn a_development_server_can_be_without_the_inspector() {
    let served = serve(apps().dev(true).inspector(false)).await;
    assert_eq!(served.get("/inspect/").await.status, 404);
    assert_eq!(served.get("/list-apps").await.status, 200);
}

#[tokio::test]
async fn replies_are_neither_kept_nor_guessed_at() {
    let served = waiting().await;
    let reply = served.get(SESSION).await;
    let headers = ["cache-control", "x-content-type-options"].map(|name| reply.header(name));
    assert_eq!(headers, [Some("no-store"), Some("nosniff")]);
}

// A stream without new events sends comments from time to time. Otherwise the server would not notice that a client has gone.
#[tokio::test]
async fn followers_of_a_quiet_session_get_comments() {
    let served = inspected(apps().clock(quarter_minute_clock())).await;
    served.session("wf", "s").await;
    for path in [&format!("{SESSION}/live"), "/apps/wf/users/u/sessions/s/events?wait=true"] {
        assert_eq!(Ask::get(path).open(served.address).await.comment().await.as_deref(), Some("ping"), "{path}");
    }
    let served = serve_alone(Inspector::new(hostile().await).clock(quarter_minute_clock())).await;
    let live = "/inspect/api/apps/old/users/u/sessions/s/live";
    assert_eq!(Ask::get(live).open(served.address).await.comment().await.as_deref(), Some("ping"));
}

#[tokio::test]
async fn a_user_has_so_many_followers_at_once() {
    let limits = ServerLimits::new().followers_per_user(1);
    let served = inspected(apps().clock(quarter_minute_clock()).limits(limits)).await;
    served.session("wf", "s").await;
    let (live, events) = (format!("{SESSION}/live"), "/apps/wf/users/u/sessions/s/events?wait=true");
    let mut first = Ask::get(&live).open(served.address).await;
    first.comment().await.unwrap();
    let refused = served.get(events).await;
    assert!(refused.status == 429 && refused.detail().contains("1 followers"), "{refused:?}");
    drop(first);
    // The slot is free once the server has noticed.
    loop {
        let mut next = Ask::get(events).open(served.address).await;
        if next.comment().await.is_some() {
            break;
        }
    }
}

/// Returns a clock whose sleeps of a quarter of a minute end at once. Other sleeps last.
fn quarter_minute_clock() -> TestClock {
    TestClock::skipping_only(|duration| duration == Duration::from_secs(15))
}

/// Counts the loads of sessions, each of which waits for a permit.
#[derive(Debug)]
struct GatedReads {
    gate: Semaphore,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Default for GatedReads {
    fn default() -> Self {
        Self { gate: Semaphore::new(0), now: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }
}

impl GatedReads {
    async fn pass(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.gate.acquire().await.unwrap().forget();
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    async fn wait_for(&self, reads: usize) {
        while self.now.load(Ordering::SeqCst) < reads {
            tokio::task::yield_now().await;
        }
    }
}

/// A session service with only the required methods.
#[derive(Debug)]
struct MinimalService {
    inner: InMemorySessionService,
    counts: Arc<GatedReads>,
}

impl MinimalService {
    /// A service whose loads do not wait.
    fn open(inner: InMemorySessionService) -> Self {
        let counts = GatedReads { gate: Semaphore::new(Semaphore::MAX_PERMITS), ..GatedReads::default() };
        Self { inner, counts: Arc::new(counts) }
    }
}

impl SessionService for MinimalService {
    pleach::forward_session_service!(|this| this.inner; create_session, events_since, list_sessions,
        delete_session, append, claim, find_sessions, user_state);

    fn get_session<'a>(
        &'a self,
        key: &'a SessionKey,
        config: GetSessionConfig,
    ) -> BoxFuture<'a, SessionResult<Option<Session>>> {
        Box::pin(async move {
            self.counts.pass().await;
            self.inner.get_session(key, config).await
        })
    }
}
