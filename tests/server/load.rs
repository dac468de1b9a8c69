//! Slow clients in parallel with fast runs.
//!
//! Links are in memory, and carry a fixed number of bytes per second. The clock is paused: time passes only when all
//! tasks wait for it, so nothing depends on the machine. A run that waits for a slow client's link would take time. All
//! other runs take none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use pleach::prelude::*;
use pleach::server::Server;
use pleach::{App, Context, GetSessionConfig, InMemorySessionService, SessionKey};
use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};

use crate::client::Ask;
use crate::link::{Link, Network};
use crate::served::{apps, message};

/// The number of clients that read their own run.
const READERS: usize = 380;
/// The number of clients that follow another client's run. The run is faster than their links.
const FOLLOWERS: usize = 80;
/// The number of clients that leave in the middle of their run.
const LEAVERS: usize = 40;

/// The number of events of a slow client's run, of about a kilobyte each. Each takes a second on the link.
const EVENTS: usize = 48;
/// The number of events of a followed run. It is more than the server buffers for followers.
const FED: usize = 300;

/// The maximum number of events between a run and its client, in the server's buffers and on the link.
const ON_THE_WAY: usize = 24;

/// The speed of a slow link.
const BYTES_PER_SECOND: usize = 1024;

/// The number of fast runs.
const RUNS: usize = 2000;
const RUNS_PER_SECOND: usize = 200;

/// The number of events that the run of each session has yielded.
#[derive(Clone, Debug, Default)]
struct YieldedEvents(Arc<Mutex<HashMap<String, usize>>>);

impl YieldedEvents {
    fn of(&self, session: &str) -> usize {
        self.0.lock().unwrap().get(session).copied().unwrap_or_default()
    }

    /// The app of slow clients. It yields as many numbered events as the message says.
    fn app(&self) -> App {
        let given = self.clone();
        let tell = FunctionNode::new("tell", move |ctx: Context, Input(count): Input<String>| {
            let given = given.clone();
            async move {
                let session = ctx.invocation().session_id().to_string();
                let count: usize = count.parse().map_err(|_| NodeError::value("a number is expected"))?;
                for number in 0..count {
                    ctx.emit(Event::message(text(number))).await?;
                    given.0.lock().unwrap().insert(session.clone(), number + 1);
                }
                Ok::<_, NodeError>(())
            }
        });
        App::new("tell", tell).unwrap()
    }
}

fn text(number: usize) -> String {
    format!("{number} {}", "x".repeat(700))
}

fn number_of(event: &Value) -> usize {
    let text = event["content"]["parts"][0]["text"].as_str().unwrap_or_else(|| panic!("{event}"));
    text.split_once(' ').unwrap().0.parse().unwrap()
}

fn ask(session: &str, events: usize) -> Ask {
    Ask::post("/run_sse", &message("tell", session, &events.to_string()))
}

/// Reads the whole stream of a run and returns the ids of its events.
async fn read_slowly(network: Network, given: YieldedEvents, session: String) -> Vec<String> {
    let mut link = network.open(&ask(&session, EVENTS), BYTES_PER_SECOND).await;
    let mut ids = Vec::new();
    while let Some(event) = link.next().await {
        assert_eq!(number_of(&event), ids.len(), "{session}");
        ids.push(event["id"].as_str().unwrap().to_owned());
        let ahead = given.of(&session) - ids.len().min(given.of(&session));
        assert!(ahead <= ON_THE_WAY, "{session}: {ahead} events wait for the client");
    }
    assert_eq!(ids.len(), EVENTS, "{session}");
    ids
}

/// Follows the run of another client.
async fn follow_slowly(network: Network, session: String) -> usize {
    let path = format!("/apps/tell/users/u/sessions/{session}/events");
    let mut link = network.open(&Ask::get(&path), BYTES_PER_SECOND).await;
    let message = link.next().await.unwrap();
    assert_eq!(message["author"], "user");
    let mut count = 0;
    while let Some(event) = link.next().await {
        assert_eq!(number_of(&event), count, "{session}");
        count += 1;
    }
    count
}

/// Reads a few events and leaves.
async fn leave(network: Network, session: String) {
    let mut link: Link = network.open(&ask(&session, EVENTS), BYTES_PER_SECOND).await;
    for number in 0..3 {
        assert_eq!(number_of(&link.next().await.unwrap()), number);
    }
}

/// Sends messages at a steady rate to an agent that calls a tool. Returns the time of each run.
async fn run_fast(network: Network) -> Vec<Duration> {
    let start = Instant::now();
    let run = async |number: usize| {
        let every = Duration::from_secs(1) / u32::try_from(RUNS_PER_SECOND).unwrap();
        sleep_until(start + every * u32::try_from(number).unwrap()).await;
        let path = if number.is_multiple_of(2) { "/run" } else { "/run_sse" };
        let begun = Instant::now();
        let reply = network.send(&Ask::post(path, &message("demo", &format!("fast-{number}"), "weather"))).await;
        let events = if path == "/run" { reply.json().as_array().unwrap().clone() } else { reply.events() };
        assert_eq!((reply.status, events.len()), (200, 3), "{reply:?}");
        assert_eq!(events[2]["content"]["parts"][0]["text"], "tool said: [('city', 'Paris'), ('temp_c', 21)]");
        begun.elapsed()
    };
    join_all((0..RUNS).map(run)).await
}

#[tokio::test(start_paused = true)]
async fn slow_clients_hold_up_no_other_run_and_get_each_event_in_order() {
    let (given, sessions) = (YieldedEvents::default(), Arc::new(InMemorySessionService::new()));
    let server: Server = apps().app(given.app()).sessions(Arc::clone(&sessions)).auto_create_session(true);
    let server = server.build().unwrap();
    let network = Network::of(server.router());
    let names = |kind: &str, count: usize| (0..count).map(|number| format!("{kind}-{number}")).collect::<Vec<_>>();

    // The followed runs run at their own speed.
    let feeds = names("feed", 4);
    let fed = feeds.iter().map(|feed| {
        let (network, ask) = (network.clone(), ask(feed, FED));
        tokio::spawn(async move { network.send(&ask).await.events().len() })
    });
    let fed: Vec<_> = fed.collect();
    while feeds.iter().any(|feed| given.of(feed) == 0) {
        tokio::task::yield_now().await;
    }
    let followers = (0..FOLLOWERS).map(|number| feeds[number % feeds.len()].clone());
    let followers: Vec<_> = followers.map(|feed| tokio::spawn(follow_slowly(network.clone(), feed))).collect();
    let readers = names("slow", READERS);
    let reading: Vec<_> =
        readers.iter().map(|name| tokio::spawn(read_slowly(network.clone(), given.clone(), name.clone()))).collect();
    let leaving: Vec<_> =
        names("gone", LEAVERS).into_iter().map(|name| tokio::spawn(leave(network.clone(), name))).collect();
    // All slow clients are in the middle of their streams.
    sleep(Duration::from_secs(2)).await;

    let took = run_fast(network.clone()).await;
    let late: Vec<_> = took.iter().filter(|time| !time.is_zero()).collect();
    assert!(late.is_empty(), "{} of {RUNS} runs waited, the longest {:?}", late.len(), late.iter().max());

    for fed in fed {
        assert_eq!(fed.await.unwrap(), FED);
    }
    for follower in followers {
        assert_eq!(follower.await.unwrap(), FED);
    }
    for (name, ids) in readers.iter().zip(reading) {
        let ids = ids.await.unwrap();
        assert_eq!(stored(&sessions, name).await, ids, "{name}");
    }
    for leaver in leaving {
        leaver.await.unwrap();
    }
    // The runs of the clients that left were aborted, and were not far ahead of their clients.
    let active = server.drain(Duration::from_secs(60)).await;
    assert!(active.iter().all(|(_, active)| active.runs.is_empty()), "{active:?}");
    for name in names("gone", LEAVERS) {
        assert!(given.of(&name) <= 3 + ON_THE_WAY, "{name}: {}", given.of(&name));
    }
}

/// Returns the ids of the events of a session, except the user's events.
async fn stored(sessions: &InMemorySessionService, session: &str) -> Vec<String> {
    let key = SessionKey::new("tell", "u", session);
    let loaded = sessions.get_session(&key, GetSessionConfig::all()).await.unwrap().unwrap();
    let events = loaded.events.iter().filter(|event| !event.is_from_user());
    events.map(|event| event.id().to_string()).collect()
}
