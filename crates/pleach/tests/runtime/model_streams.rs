//! Streams of models that end early or that the reader abandons.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt as _;
use futures::stream;
use pleach::FunctionCall;
use pleach::model::{LlmResponse, Model, ModelCall, ModelError, ModelErrorKind, ResponseStream, ScriptedReply};
use pleach::prelude::*;

use crate::support::{runner, stored, trace};

/// An agent with a tool that must not run.
fn agent(model: impl Model) -> LlmAgent {
    let tool = tool("pay", "Pays.", async || -> Result<String> { panic!("an incomplete call has run") });
    LlmAgent::builder("helper").model(model).output_key("answer").tool(tool).build().unwrap()
}

/// Two fragments: a text, and a call without its arguments yet.
fn half() -> [LlmResponse; 2] {
    [LlmResponse::text("I pay"), LlmResponse::calls([FunctionCall::new("c1", "pay", Default::default())])]
}

#[tokio::test]
async fn a_stream_that_is_cut_in_the_middle_stores_nothing_and_runs_no_call() {
    let cut = ModelError::new("scripted", ModelErrorKind::StreamCut);
    let reply = ScriptedReply::fragments(half()).then_error(cut);
    let (runner, sessions) = runner(agent(ScriptedModel::new().then(reply)));
    let lines = trace(runner.run("ana", "s1", "go").streaming()).await;
    assert!(lines.last().unwrap().starts_with("! ModelError: "), "{lines:?}");
    let left = stored(&sessions).await;
    assert_eq!(left.len(), 1, "only the error event: {left:?}");
    assert!(!left[0].contains("I pay") && !left[0].contains("state"), "{left:?}");
}

#[tokio::test]
async fn l156_a_stream_that_ends_after_a_fragment_stores_nothing_and_runs_no_call() {
    let fragments = half().map(LlmResponse::as_fragment);
    let (runner, sessions) = runner(agent(ScriptedModel::new().then(ScriptedReply::responses(fragments))));
    let lines = trace(runner.run("ana", "s1", "go").streaming()).await;
    assert_eq!(lines.len(), 2, "two fragments, no error: {lines:?}");
    assert_eq!(stored(&sessions).await, [] as [&str; 0]);
}

/// A model that sends one fragment and then nothing more. It records that its stream was dropped.
struct Endless(Arc<AtomicBool>);

struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Model for Endless {
    fn name(&self) -> &str {
        "endless"
    }

    fn generate<'a>(&'a self, _: ModelCall<'a>) -> ResponseStream<'a> {
        let gone = Gone(Arc::clone(&self.0));
        let first = stream::iter([Ok(LlmResponse::text("Once").as_fragment())]);
        let held = move |item| {
            let _held = &gone;
            item
        };
        first.chain(stream::pending()).map(held).boxed()
    }
}

#[tokio::test]
async fn dropping_a_run_drops_the_stream_of_its_model_at_once() {
    let gone = Arc::new(AtomicBool::new(false));
    let (runner, sessions) = runner(agent(Endless(Arc::clone(&gone))));
    let mut run = runner.run("ana", "s1", "go").streaming();
    assert_eq!(run.next().await.unwrap().unwrap().fragment(), "Once");
    assert!(!gone.load(Ordering::Relaxed));
    drop(run);
    assert!(gone.load(Ordering::Relaxed));
    assert_eq!(stored(&sessions).await, [] as [&str; 0]);
}
