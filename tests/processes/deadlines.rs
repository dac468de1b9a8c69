//! Deadlines that outlive the process that set them.

use std::time::Duration;

use futures_util::future::join_all;
use pleach::prelude::*;
use pleach::{FollowOptions, SessionKey};
use serde_json::{Value, json};

use crate::database::Backend;
use crate::waiting::{pause, process};

/// The time for which the question stays open. It is longer than the processes need to start.
const LIMIT: Duration = Duration::from_millis(400);

/// A handler that charges, asks and sleeps.
async fn order(ctx: Context) -> Result<Value> {
    let charged: u32 = ctx.step("charge", async || Ok(7)).await?;
    let answer: Option<bool> = ctx.ask_within("ok", "Pay?", LIMIT).await?;
    ctx.sleep(Duration::from_millis(20)).await?;
    Ok(json!([charged, answer]))
}

/// Follows the session across pauses until the node has an output.
async fn output(runner: &Runner) -> Value {
    let options = FollowOptions::new().across_pauses(true).poll_interval(Duration::from_millis(20));
    let mut events = runner.follow_with(("ana", "s1"), options).await.unwrap();
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        if let (Some(output), "wf@1/wait@1") = (event.output(), event.path().as_str()) {
            return output.clone();
        }
    }
    panic!("the session ended without an output")
}

/// Several processes may be running at the deadline. The question is answered once, and the work after it runs once.
pub(crate) async fn a_deadline_outlives_its_process_and_comes_once(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    pause(process(&database, order).await).await;
    let later = join_all((0..3).map(|_| process(&database, order))).await;
    later.iter().for_each(Runner::start_timers);
    let outputs = join_all(later.iter().map(output)).await;
    assert_eq!(outputs, vec![json!([7, null]); 3]);

    let session = later[0].sessions().get_session(&SessionKey::new("t", "ana", "s1"), Default::default()).await;
    let events = session.unwrap().unwrap().events;
    let answers = events.iter().flat_map(|event| event.function_responses());
    assert_eq!(answers.count(), 2, "the question and the sleep are answered once each");
    let steps = events.iter().filter(|event| event.path().as_str().ends_with("charge@step-1"));
    assert_eq!(steps.count(), 1, "the step is stored once");
    for runner in later {
        runner.close().await.unwrap();
    }
}
