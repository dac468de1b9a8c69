//! Tests of the streams of events.

use std::time::Duration;

use serde_json::json;

use crate::backend::Backend;
use crate::client::{Client, Sent};
use crate::service::Bank;

const WHOLE: [&str; 5] = ["check", "approve", "decide", "transfer", "pay"];

fn nodes(events: &[Sent]) -> Vec<&str> {
    events.iter().map(Sent::node).collect()
}

/// Reads a stream up to the question.
async fn to_question(client: &Client) -> (crate::client::Events, Vec<Sent>) {
    let mut events = client.events("e1", None).await;
    let mut seen = Vec::new();
    while seen.last().is_none_or(|last: &Sent| last.data.get("question").is_none()) {
        seen.push(events.next().await.unwrap());
    }
    (events, seen)
}

pub(crate) async fn a_stream_goes_over_a_pause_to_the_end(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    client.submit("e1", 48_000).await;
    let (events, mut seen) = to_question(&client).await;
    client.answer("e1", json!({"approved": true})).await;
    seen.extend(events.rest().await);
    assert_eq!(nodes(&seen), WHOLE);
    assert_eq!(seen[4].data["outcome"]["result"], "paid");
    // After the expense is done, the same events arrive at once, and the stream ends.
    assert_eq!(client.events("e1", None).await.rest().await, seen);
    assert_eq!(client.events("e1", Some(&seen[4].id)).await.rest().await, []);
}

pub(crate) async fn a_client_that_comes_back_gets_what_it_has_missed(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    client.submit("e1", 48_000).await;
    let (events, mut seen) = to_question(&client).await;
    drop(events);
    client.answer("e1", json!({"approved": true})).await;
    // Continue in another process, as with a load balancer.
    let other = place.start().await;
    let last = seen.last().unwrap().id.clone();
    let missed = async { other.events("e1", Some(&last)).await.rest().await };
    seen.extend(place.clock.run(missed).await);
    assert_eq!(nodes(&seen), WHOLE);
}

pub(crate) async fn streams_end_when_the_service_stops(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let client = place.start().await;
    client.submit("e1", 48_000).await;
    let (events, _) = to_question(&client).await;
    client.service.stopping.cancel();
    assert_eq!(events.rest().await, []);
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_the_run_fails_in_another_process() {
    let Some(place) = Backend::Memory.place().await else { return };
    let no_bank = Bank::new(place.folder.path().join("bank/payments.jsonl"), Duration::ZERO);
    let (runs, follows) = (place.start_with(no_bank).await, place.start().await);
    runs.submit("e1", 48_000).await;
    let (events, seen) = to_question(&follows).await;
    assert_eq!(nodes(&seen), WHOLE[..2]);
    runs.answer("e1", json!({"approved": true})).await;
    runs.comes_to("e1", "failed").await;
    let rest = events.rest().await;
    assert_eq!(rest[0].node(), "decide");
    assert_eq!(rest.last().unwrap().data["error"], "BankError", "{rest:?}");
}
