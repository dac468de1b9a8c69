//! A node that a test controls step by step.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{Follow, FunctionNode, SessionService};
use tokio::sync::{mpsc, oneshot};

use crate::support::line;

/// The next action of the node.
enum Step {
    /// Sends a complete event, or a fragment.
    Say(String, bool, oneshot::Sender<()>),
    End(&'static str),
    Fail,
}

/// Controls the node of [`scripted`].
#[derive(Clone)]
pub(crate) struct Script(mpsc::UnboundedSender<Step>);

impl Script {
    /// Makes the node send a complete event. Returns when the Runner has stored the event and the node continues.
    pub(crate) async fn say(&self, text: &str) {
        self.send(text, false).await;
    }

    /// Makes the node send a fragment.
    pub(crate) async fn fragment(&self, text: &str) {
        self.send(text, true).await;
    }

    /// Makes the node send a complete event and does not wait for it, for a run that the test itself reads.
    pub(crate) fn later(&self, text: &str) {
        let _ = self.0.send(Step::Say(text.into(), false, oneshot::channel().0));
    }

    async fn send(&self, text: &str, partial: bool) {
        let (done, sent) = oneshot::channel();
        assert!(self.0.send(Step::Say(text.into(), partial, done)).is_ok(), "the node is gone");
        sent.await.unwrap();
    }

    pub(crate) fn end(&self, output: &'static str) {
        let _ = self.0.send(Step::End(output));
    }

    pub(crate) fn fail(&self) {
        let _ = self.0.send(Step::Fail);
    }
}

/// A root node that a [`Script`] controls. If several runs of it exist, the first one that is polled takes the next step.
pub(crate) fn scripted() -> (Script, FunctionNode<Dynamic, String>) {
    let (tx, rx) = mpsc::unbounded_channel();
    let steps = Arc::new(tokio::sync::Mutex::new(rx));
    let node = FunctionNode::new("n", move |ctx: Context, Input(_): Input<Dynamic>| {
        let steps: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Step>>> = Arc::clone(&steps);
        async move {
            loop {
                let step = steps.lock().await.recv().await;
                match step {
                    Some(Step::Say(text, partial, done)) => {
                        ctx.emit(Event::message(text).with_partial(partial)).await?;
                        let _ = done.send(());
                    }
                    Some(Step::End(output)) => return Ok(output.to_owned()),
                    Some(Step::Fail) => return Err(Fail::msg("broken")),
                    None => std::future::pending().await,
                }
            }
        }
    });
    (Script(tx), node)
}

/// A Runner over a scripted node.
pub(crate) fn scripted_runner(sessions: impl SessionService) -> (Script, Runner) {
    let (script, node) = scripted();
    (script, Runner::builder("t").root(node).sessions(sessions).build().unwrap())
}

/// The remaining events of a follower, one line each.
pub(crate) async fn rest(follow: &mut Follow) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(item) = follow.next().await {
        lines.push(match item {
            Ok(event) => line(&event),
            Err(error) => format!("! {}: {}", error.code(), error.message()),
        });
    }
    lines
}

/// The next `count` events of a follower, one line each.
pub(crate) async fn take(follow: &mut Follow, count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for _ in 0..count {
        lines.push(line(&follow.next().await.unwrap().unwrap()));
    }
    lines
}
