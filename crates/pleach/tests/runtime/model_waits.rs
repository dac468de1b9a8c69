//! Tests of a model whose client waits before it retries. Followers of the run see why no event comes.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use pleach::MODEL_WAIT;
use pleach::model::{LlmResponse, Model, ModelCall, ModelError, ModelWait, ResponseStream};
use pleach::prelude::*;
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{key, runner, stored};

/// A model that reports a wait and answers when the test lets it.
#[derive(Default)]
struct Busy(Arc<Notify>);

impl Model for Busy {
    fn name(&self) -> &str {
        "busy"
    }

    fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a> {
        let answer = async move {
            self.0.notified().await;
            let error = ModelError::from_status("busy", 429);
            call.waits(&ModelWait { model: "busy", error: &error, wait: Duration::from_secs(7), attempts: 2 });
            self.0.notified().await;
            Ok(LlmResponse::text("Sunny."))
        };
        stream::once(answer).boxed()
    }
}

#[tokio::test]
async fn a_wait_is_shown_to_followers_and_is_neither_stored_nor_returned() {
    let model = Busy::default();
    let go = Arc::clone(&model.0);
    let (runner, sessions) = runner(LlmAgent::builder("helper").model(model).build().unwrap());
    let run = runner.run("ana", "s1", "go").detach();
    let mut follow = runner.follow(key(), None).await.unwrap();
    assert_eq!(follow.next().await.unwrap().unwrap().author(), "user");
    go.notify_one();
    let wait = follow.next().await.unwrap().unwrap();
    assert!(wait.is_partial() && wait.content().is_none());
    assert_eq!((wait.author(), wait.path().as_str()), ("helper", "helper@1"));
    assert_eq!(Some(wait.invocation_id()), run.invocation_id().await.ok().as_ref());
    let note = &wait.custom_metadata().unwrap()[MODEL_WAIT];
    let code = ModelError::from_status("busy", 429).code().to_owned();
    assert_eq!(*note, json!({"model": "busy", "code": code, "status": 429, "seconds": 7.0, "attempt": 2}));
    go.notify_one();
    assert_eq!(follow.next().await.unwrap().unwrap().text(), "Sunny.");
    assert!(follow.next().await.is_none());
    run.await.unwrap();
    assert!(stored(&sessions).await.iter().all(|line| !line.contains("busy")));
    // The reader of a run sees no event for the wait.
    let mut run = runner.run("ana", "s2", "go");
    let read = async {
        let mut texts = Vec::new();
        while let Some(event) = run.next().await {
            texts.push(event.unwrap().text());
        }
        texts
    };
    let say = async {
        go.notify_one();
        tokio::task::yield_now().await;
        go.notify_one();
    };
    assert_eq!(futures::join!(read, say).0, ["Sunny."]);
}
